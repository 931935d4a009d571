#pragma once

#include <cmath>

#include "gated/core/count.hpp"
#include "gated/core/random.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/product.hpp"

/// @file
/// The linear layer: a projection of the channels.

namespace gated {

/// y = x Wᵀ + b for each token. The gMLP paper calls its two channel projections U and V (arXiv:2105.08050, §2).
///
/// In a layer's body, run(linear, x, {.activation = …, .gate = …, .residual = …}) fuses these steps into the matmul: see
/// Epilogue.
/// Shapes: x is N × in, y is N × out, weight is out × in, as in checkpoints.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes.
/// Cost: 2·N·in·out flops.
template <class T>
struct Linear : Layer<Linear<T>> {
  static constexpr const char* name = "Linear";

  Matrix<T> weight;  ///< out × in
  Vector<T> bias;    ///< out elements, or empty

  Linear() = default;
  Linear(Index in, Index out, bool with_bias = true) {
    require<ArgumentError>(in > 0 && out > 0, "Linear: in = ", in, " and out = ", out, " must be positive.");
    weight = unset_weight<T>(out, in, name);
    bias = filled_vector<T>(T{0}, with_bias ? out : 0, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &Linear::weight, Role::weight), field("bias", &Linear::bias, Role::bias));
  }

  /// timm's initialization of MLP projections: Xavier-uniform weight, bias from N(0, (1e-6)²).
  void initialize(Random& random) {
    fill_uniform(weight, std::sqrt(6.0 / static_cast<double>(weight.rows() + weight.cols())), random);
    fill_normal(bias, 1e-6, random);
  }

  /// PyTorch's initialization: weight and bias uniform in ±1 / √in.
  void initialize_as_pytorch(Random& random) {
    const double bound = 1 / std::sqrt(static_cast<double>(weight.cols()));
    fill_uniform(weight, bound, random);
    fill_uniform(bias, bound, random);
  }

  Contract contract() const { return {.in = weight.cols(), .out = weight.rows(), .sees = Sees::itself}; }

  auto apply(auto& run, const auto& x, const auto& then) const {
    expect_set(run, "weight", weight);
    return product(run, x, weight, bias, then);
  }
};

}  // namespace gated
