#pragma once

#include "gated/core/unset.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/elementwise.hpp"

/// @file
/// PReLU, an activation with a learned slope.

namespace gated {

/// y = x where x > 0, else slope ⊙ x (PReLU, arXiv:1502.01852).
///
/// Shapes: x and y are N × C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes.
/// Cost: one pass over x.
template <class T>
struct Prelu : Layer<Prelu<T>> {
  static constexpr const char* name = "Prelu";

  Index channels = 0;
  Vector<T> slope;  ///< C slopes, or one for all channels

  Prelu() = default;
  /// Sets all slopes to 1/4, as PyTorch does.
  explicit Prelu(Index channels_, bool per_channel_slopes = false) : channels(channels_) {
    require<ArgumentError>(channels_ > 0, name, ": channels = ", channels_, " must be positive.");
    const Index slopes = per_channel_slopes ? channels_ : 1;
    slope = filled_vector<T>(static_cast<T>(0.25), slopes, name);
  }

  static constexpr auto fields() { return Fields(field("weight", &Prelu::slope, Role::norm)); }

  Contract contract() const { return {.in = channels, .out = channels, .sees = Sees::itself}; }

  auto apply(auto& run, auto x) const {
    expect_whole(name, slope.size() > 0);
    return prelu(run, std::move(x), slope);
  }
};

}  // namespace gated
