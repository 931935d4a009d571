#pragma once

#include "gated/core/unset.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/token_norm.hpp"

/// @file
/// LayerNorm over tokens.

namespace gated {

/// A LayerNorm over the tokens of each channel, with a weight and a bias for each token: ViT-FF's `norm2` (arXiv:2105.02723).
///
/// Shapes: x and y are rows × C, with C = `channels`.
/// Errors: ArgumentError for invalid sizes, or if streamed; ShapeError unless sequences have N tokens.
/// Cost: three passes over x.
template <class T>
struct TokenNorm : Layer<TokenNorm<T>> {
  static constexpr const char* name = "TokenNorm";

  Index channels = 0;
  double eps = 1e-5;
  Vector<T> weight, bias;  ///< N

  TokenNorm() = default;
  /// weight = 1, bias = 0.
  TokenNorm(Index channels_, Index length, double eps_) : channels(channels_), eps(eps_) {
    require<ArgumentError>(channels_ > 0 && length > 0 && eps_ >= 0, name, ": channels = ", channels_, " and length = ", length,
                           " must be positive, and eps = ", eps_, " must not be negative.");
    weight = filled_vector<T>(T{1}, length, name);
    bias = filled_vector<T>(T{0}, length, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &TokenNorm::weight, Role::norm), field("bias", &TokenNorm::bias, Role::norm));
  }

  Contract contract() const {
    return {.in = channels,
            .out = channels,
            .shortest = weight.size(),
            .longest = weight.size(),
            .remedy = " Build it with length = the number of tokens per sequence.",
            .unstreamable = "A norm over the tokens needs all tokens of a sequence."};
  }

  auto apply(auto& run, auto x) const { return normalize_over_tokens(run, std::move(x), parameters()); }

 private:
  TokenNormParameters<T> parameters() const { return {TokenNormForm::layer_norm, eps, &weight, &bias}; }
};

}  // namespace gated
