#pragma once

#include "gated/core/parameter_budget.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/token_norm.hpp"

/// @file
/// The LayerNorm of tokens that MLPs over tokens may have.

namespace gated {

/// A LayerNorm over the tokens of each channel, with a weight and a bias for each token: norm2 of ViT-FF (arXiv:2105.02723).
///
/// Shapes: x and y are rows × C, for any C; y may be x.
/// Errors: ArgumentError when built and for a stream; ShapeError for a sequence that is not N long.
/// Cost: three passes over x.
template <class T>
struct TokenNorm : Layer<TokenNorm<T>> {
  static constexpr const char* name = "TokenNorm";

  Index channels = 0;
  double eps = 1e-5;
  Vector<T> weight, bias;  ///< N

  TokenNorm() = default;
  /// Weights of 1 and biases of 0.
  TokenNorm(Index channels_, Index length, double eps_) : channels(channels_), eps(eps_) {
    require<ArgumentError>(channels_ > 0 && length > 0 && eps_ >= 0, name, ": channels = ", channels_, " and length = ", length,
                           " must be positive, and eps = ", eps_, " not negative.");
    expect_memory<T>(name, length);
    weight = Vector<T>::Ones(length);
    bias = Vector<T>::Zero(length);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &TokenNorm::weight, Role::norm), field("bias", &TokenNorm::bias, Role::norm)};
  }

  Contract contract() const {
    return {.in = channels,
            .out = channels,
            .shortest = weight.size(),
            .longest = weight.size(),
            .remedy = " There is a weight for each token: build it for that length.",
            .unstreamable = "A norm over the tokens takes all of them."};
  }

  auto apply(auto& run, auto x) const { return normalise_over_tokens(run, std::move(x), parameters()); }

 private:
  TokenNormParameters<T> parameters() const { return {eps, &weight, &bias}; }
};

}  // namespace gated
