#pragma once

#include <cmath>
#include <vector>

#include "gated/layers/branchformer_layer.hpp"
#include "literal.hpp"

/// Formulas of E-Branchformer's parts as plain loops in double.

namespace gated::literal {

/// A depthwise convolution by its formula. Rows before a sequence equal `before`, or zero if `before` is empty.
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

/// RelativeAttention's position vector P(r), computed from sines and cosines.
template <class T>
Matrix<double> position_vector(const RelativeAttention<T>& layer, Index r) {
  const Index channels = layer.config.channels;
  Matrix<double> s(1, channels);
  for (Index k = 0; k < channels / 2; ++k) {
    const double angle =
        static_cast<double>(r) * std::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(channels));
    s(0, 2 * k) = std::sin(angle);
    s(0, 2 * k + 1) = std::cos(angle);
  }
  return s * test::wide(layer.position->weight).transpose();
}

/// RelativeAttention by its formula, one score at a time.
template <class T>
Matrix<double> relative_attention(const RelativeAttention<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                                  Mask mask = {}) {
  const auto& c = layer.config;
  const Index w = c.channels / c.heads;
  const Matrix<double> q = linear(layer.query, x), k = linear(layer.key, x), v = linear(layer.value, x);
  Matrix<double> mixed = Matrix<double>::Zero(x.rows(), c.channels);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index n = sequences.length(b), offset = sequences.offset(b);
    std::vector<Matrix<double>> p;  // P(-(n - 1)) … P(n - 1)
    for (Index r = 1 - n; r < n && c.position != ScorePosition::none; ++r) {
      p.push_back(position_vector(layer, r));
    }
    for (Index head = 0; head < c.heads; ++head) {
      for (Index i = 0; i < n; ++i) {
        const Index seen = c.causal ? i + 1 : n;
        Vector<double> weights = Vector<double>::Zero(seen);
        for (Index j = 0; j < seen; ++j) {
          double score = 0;
          for (Index d = 0; d < w; ++d) {
            const Index column = head * w + d;
            const double own = q(offset + i, column);
            if (c.position == ScorePosition::none) {
              score += own * k(offset + j, column);
              continue;
            }
            const Index r = c.position == ScorePosition::key ? j : i - j;
            score +=
                (own + static_cast<double>(layer.content_bias(head, d))) * k(offset + j, column) +
                (own + static_cast<double>(layer.position_bias(head, d))) * p[static_cast<std::size_t>(r + n - 1)](0, column);
          }
          const bool visible = mask.empty() || mask[static_cast<std::size_t>(offset + j)] != 0;
          weights(j) = visible ? std::exp(score / std::sqrt(static_cast<double>(w))) : 0;
        }
        mixed.row(offset + i).segment(head * w, w) +=
            (weights / weights.sum()).transpose() * v.block(offset, head * w, seen, w);
      }
    }
  }
  return linear(layer.proj_out, mixed);
}

template <class T>
Matrix<double> half_branch(const Branch<FeedForward<T>>& branch, const Matrix<double>& x, double factor) {
  const Matrix<double> hidden = activate(Activation::silu, linear(branch.mixer.proj_in, layer_norm(branch.norm, x)));
  return x + factor * linear(branch.mixer.proj_out, hidden);
}

template <class T>
Matrix<double> branchformer_layer(const BranchformerLayer<T>& layer, Matrix<double> x, const Sequences& sequences,
                                  Mask mask = {}) {
  const Index channels = layer.config.channels;
  const double factor = layer.config.macaron ? 0.5 : 1;
  x = layer.macaron ? half_branch(*layer.macaron, x, factor) : x;
  Matrix<double> m(x.rows(), 2 * channels);
  m.leftCols(channels) = relative_attention(layer.attention, layer_norm(layer.attention_norm, x), sequences, mask);
  m.rightCols(channels) = convolutional_gating(layer.gating, layer_norm(layer.gating_norm, x), sequences);
  x += linear(layer.merge_proj, m + depthwise(layer.merge_conv, m, sequences));
  x = layer.feed_forward ? half_branch(*layer.feed_forward, x, factor) : x;
  return layer_norm(layer.norm, x);
}

}  // namespace gated::literal
