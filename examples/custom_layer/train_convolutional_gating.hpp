#pragma once

#include "convolutional_gating.hpp"
#include "gated/train/elementwise.hpp"
#include "gated/train/linear.hpp"
#include "gated/train/norm.hpp"

/// @file
/// Training of the cgMLP: the same functions on a tape, and their way back.

namespace speech {

using gated::Tape, gated::Variable;

/// y = conv(x). ∂x is ∂y through the reversed kernels, ∂weight[c, k] = Σ_t ∂y[t, c] x[t + k - (K-1)/2, c], ∂bias = Σ_t ∂y.
/// Cost: twice the forward's.
template <class T>
Variable depthwise_convolution(Tape<T>& tape, Variable x, const Matrix<T>& weight, const Vector<T>& bias,
                               const Sequences& sequences) {
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  depthwise_convolution<T>(tape[x], weight, bias, sequences, false, tape[y], tape.workspace());
  const Index kept = tape.keep(sequences);
  tape.push([&tape, &weight, &bias, x, y, kept] {
    Workspace<T>& workspace = tape.workspace();
    const ConstView<T> dy = tape.gradient(y);
    if (tape.wants_gradient(x)) {
      const auto frame = workspace.frame();
      MatrixMap<T> dx = workspace.matrix(dy.rows(), dy.cols());
      depthwise_convolution<T>(dy, weight, Vector<T>(), tape.sequences(kept), true, dx, workspace);
      gated::add_gradient<T>(tape, x, dx);
    }
    if (T* const to = tape.gradient_of(weight.data())) {
      add_kernel_gradient<T>(tape[x], dy, tape.sequences(kept), Eigen::Map<Matrix<T>>(to, weight.rows(), weight.cols()),
                             workspace);
    }
    if (T* const to = tape.gradient_of(bias.data())) {
      gated::add_column_sums<T>(dy, to, workspace);
    }
  });
  return y;
}

/// y = u ⊙ act(conv(LN(v))). Nothing is derived by hand here: each part has its way back.
template <class T>
Variable record(Tape<T>& tape, const ConvolutionalGatingUnit<T>& layer, Variable x, const Sequences& sequences) {
  layer.check(tape[x], sequences);
  const Variable u = tape.columns(x, 0, layer.out());
  const Variable v = tape.columns(x, layer.out(), layer.out());
  const Variable normalised = record<T>(tape.at("norm"), layer.norm, v);
  const Variable gate = depthwise_convolution(tape, normalised, layer.weight, layer.bias, sequences);
  return multiply(tape, activate(tape, gate, layer.activation), u);
}

/// y = W₂ csgu(GELU(W₁ x + b₁)) + b₂.
template <class T>
Variable record(Tape<T>& tape, const ConvolutionalGatingMlp<T>& model, Variable x, const Sequences& sequences) {
  const Variable projected = record<T>(tape.at("channel_proj1"), model.channel_proj1, x);
  const Variable hidden = activate(tape, projected, gated::Activation::gelu);
  const Variable gated_half = record<T>(tape.at("csgu"), model.csgu, hidden, sequences);
  return record<T>(tape.at("channel_proj2"), model.channel_proj2, gated_half);
}

}  // namespace speech
