#pragma once

#include "gated/core/count.hpp"
#include "gated/core/layer.hpp"
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
struct TokenNorm : SequenceLayer<TokenNorm<T>, T> {
  using Scalar = T;
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
  /// The values in one for sequences of this length.
  static Count value_count(Count length) { return 2 * length; }

  static constexpr auto fields() {
    return std::tuple{field("weight", &TokenNorm::weight, Role::norm), field("bias", &TokenNorm::bias, Role::norm)};
  }

  Index in() const { return channels; }
  Index out() const { return channels; }
  Index longest() const { return weight.size(); }
  void check(Where where, const Sequences& sequences, Mask) const {
    for (Index b = 0; b < sequences.count(); ++b) {
      require<ShapeError>(sequences.length(b) == weight.size(), where, ": sequence ", b, " has ", sequences.length(b),
                          " tokens, but there is a weight for each of ", weight.size(), ". Build it for that length.");
    }
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    return normalise_over_tokens<Run, T>(run, x, {eps, &weight, &bias}, to);
  }
};

}  // namespace gated
