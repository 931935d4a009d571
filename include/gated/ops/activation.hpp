#pragma once

#include "gated/core/words.hpp"

/// @file
/// The names of activation functions; ops/kernels/activation.inl has their formulas.

namespace gated {

/// An activation function, named as in configuration files. The last two are for coarse() only and have no names.
enum class Activation {
  identity,
  gelu,
  gelu_tanh,
  silu,
  relu,
  relu2,
  laplace,
  laplace_legacy,
  tanh,
  sigmoid,
  coarse_gelu,
  coarse_gelu_tanh
};

/// The activations' names in configuration files.
constexpr auto names_of(Activation) {
  return words_for<Activation>("identity", "gelu", "gelu_tanh", "silu", "relu", "relu2", "laplace", "laplace_legacy", "tanh",
                               "sigmoid");
}

/// The form of `activation` for engines of low precision: GELU and its tanh form become polynomials, which are faster.
/// Errors are below 2⁻¹², or 2⁻¹⁹ |x| where |x| > 128; those of derivatives are below 2⁻¹². Other activations stay as they are.
constexpr Activation coarse(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return Activation::coarse_gelu;
    case Activation::gelu_tanh:
      return Activation::coarse_gelu_tanh;
    default:
      return activation;
  }
}

/// The form of `activation` in ops that use `workspace`: coarse() with an engine of low precision, such as int8_products().
template <class Workspace>
Activation form_in(const Workspace& workspace, Activation activation) {
  const auto* const engine = workspace.product_engine();
  return engine != nullptr && engine->coarse() ? coarse(activation) : activation;
}

}  // namespace gated
