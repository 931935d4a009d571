#pragma once

#include "gated/core/random.hpp"
#include "gated/core/unset.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/embedding.hpp"

/// @file
/// The learned position embedding.

namespace gated {

/// y_t = x_t + weight[t]: a learned vector per position of a sequence (BERT's position_embeddings).
///
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid sizes; ShapeError for sequences of more than L = max_length tokens.
/// Cost: one pass over x.
template <class T>
struct LearnedPosition : Layer<LearnedPosition<T>> {
  static constexpr const char* name = "LearnedPosition";

  Matrix<T> weight;  ///< L × C

  LearnedPosition() = default;
  /// Sets all vectors to 0.
  LearnedPosition(Index max_length, Index channels) {
    require<ArgumentError>(max_length > 0 && channels > 0, name, ": max_length = ", max_length, " and channels = ", channels,
                           " must be positive.");
    weight = filled_matrix<T>(T{0}, max_length, channels, name);
  }

  static constexpr auto fields() { return Fields(field("weight", &LearnedPosition::weight, Role::position)); }

  /// Draws the vectors from N(0, 0.02²), like embeddings.
  void initialize(Random& random) { fill_normal(weight, 0.02, random); }

  Contract contract() const {
    return {.in = weight.cols(),
            .out = weight.cols(),
            .sees = Sees::itself,
            .longest = weight.rows(),
            .remedy = " Build the model with a larger max_length."};
  }

  auto apply(auto& run, auto x) const { return add_positions(run, std::move(x), weight); }
};

}  // namespace gated
