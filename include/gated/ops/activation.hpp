#pragma once

#include "gated/core/words.hpp"

/// @file
/// Activations by name. ops/kernels/activation.inl defines the functions.

namespace gated {

/// An activation, as configurations name it.
enum class Activation { identity, gelu, gelu_tanh, silu, relu, relu2, laplace, laplace_legacy, tanh, sigmoid };

/// The activations' names in configuration files.
constexpr auto names_of(Activation) {
  return words_for<Activation>("identity", "gelu", "gelu_tanh", "silu", "relu", "relu2", "laplace", "laplace_legacy", "tanh",
                               "sigmoid");
}

}  // namespace gated
