#pragma once

#include <cmath>
#include <vector>

#include "gated/layers/convolutional_gating.hpp"
#include "gated/layers/relative_attention.hpp"
#include "literal.hpp"

/// Formulas of E-Branchformer's parts as plain loops in double.

namespace gated::literal {

/// A depthwise convolution, one product at a time. Rows before a sequence are `before`, or zero if it is empty.
template <class T>
Matrix<double> depthwise(const DepthwiseConvolution<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                         const Vector<double>& before = {}) {
  const Index taps = layer.config.kernel, own = layer.config.causal ? taps - 1 : taps / 2;
  Matrix<double> y(x.rows(), x.cols());
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    for (Index t = 0; t < length; ++t) {
      for (Index c = 0; c < x.cols(); ++c) {
        double sum = static_cast<double>(layer.bias(c));
        for (Index k = 0; k < taps; ++k) {
          const Index from = t + k - own;
          const double read = from >= 0 && from < length ? x(offset + from, c) : from < 0 && before.size() > 0 ? before(c) : 0;
          sum += static_cast<double>(layer.weight(c, k)) * read;
        }
        y(offset + t, c) = sum;
      }
    }
  }
  return y;
}

template <class T>
Matrix<double> convolutional_gating(const ConvolutionalGatingMlp<T>& layer, const Matrix<double>& x,
                                    const Sequences& sequences) {
  const Index half = layer.config.hidden / 2;
  const Matrix<double> hidden = activate(Activation::gelu, linear(layer.proj_in, x));
  const Vector<double> before =
      layer.config.norm_before_padding ? Vector<double>() : Vector<double>(layer.gate.norm.bias.template cast<double>());
  Matrix<double> gate = depthwise(layer.gate.conv, layer_norm(layer.gate.norm, hidden.rightCols(half)), sequences, before);
  gate = layer.gate.linear ? linear(*layer.gate.linear, gate) : gate;
  return linear(layer.proj_out, hidden.leftCols(half).cwiseProduct(activate(layer.config.gate_activation, gate)));
}

}  // namespace gated::literal
