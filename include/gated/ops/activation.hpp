#pragma once

#include "gated/core/words.hpp"

/// @file
/// The names of activation functions; ops/kernels/activation.inl has their formulas.

namespace gated {

/// An activation function, named as in configuration files.
enum class Activation { identity, gelu, gelu_tanh, silu, relu, relu2, laplace, laplace_legacy, tanh, sigmoid };

/// The activations' names in configuration files.
constexpr auto names_of(Activation) {
  return words_for<Activation>("identity", "gelu", "gelu_tanh", "silu", "relu", "relu2", "laplace", "laplace_legacy", "tanh",
                               "sigmoid");
}

}  // namespace gated
