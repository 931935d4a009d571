#pragma once

#include "gated/core/words.hpp"

/// @file
/// The names of activations. What they calculate stands in ops/kernels/activation.inl.

namespace gated {

/// The name of an activation in a configuration.
enum class Activation { identity, gelu, gelu_tanh, silu, relu, relu2, laplace, laplace_legacy, tanh, sigmoid };

/// The words that configuration files use.
constexpr auto names_of(Activation) {
  return words_for<Activation>("identity", "gelu", "gelu_tanh", "silu", "relu", "relu2", "laplace", "laplace_legacy", "tanh",
                               "sigmoid");
}

}  // namespace gated
