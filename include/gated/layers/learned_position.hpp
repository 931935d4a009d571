#pragma once

#include "gated/core/count.hpp"
#include "gated/core/layer.hpp"
#include "gated/core/random.hpp"
#include "gated/ops/embedding.hpp"

/// @file
/// The learned position embedding.

namespace gated {

/// y_t = x_t + weight[t]: a learned vector per position of a sequence (BERT's position_embeddings).
///
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built; ShapeError for sequences of more than L tokens.
/// Cost: one pass over x.
template <class T>
struct LearnedPosition : SequenceLayer<LearnedPosition<T>, T> {
  using Scalar = T;
  static constexpr const char* name = "LearnedPosition";

  Matrix<T> weight;  ///< L × C

  LearnedPosition() = default;
  /// Vectors of zero, for a checkpoint to be loaded into.
  LearnedPosition(Index max_length, Index channels) {
    require<ArgumentError>(max_length > 0 && channels > 0, name, ": max_length = ", max_length, " and channels = ", channels,
                           " must be positive.");
    expect_memory<T>(name, max_length, channels);
    weight = Matrix<T>::Zero(max_length, channels);
  }
  /// The values in one of these sizes.
  static Count value_count(Count max_length, Count channels) { return max_length * channels; }

  static constexpr auto fields() { return std::tuple{field("weight", &LearnedPosition::weight, Role::position)}; }

  Index in() const { return weight.cols(); }
  Index out() const { return weight.cols(); }
  Index longest() const { return weight.rows(); }

  /// N(0, 0.02²), as embeddings.
  void initialize(Random& random) { fill_normal(weight, 0.02, random); }

  /// Raises ShapeError for sequences past the end of the table.
  void check(Where where, const Sequences& sequences, Mask) const {
    require<ShapeError>(sequences.longest() <= longest(), where, ": a sequence has ", sequences.longest(),
                        " tokens, but there are positions for ", longest(), ". Build the model with a larger max_length.");
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    return add_positions(run, x, weight, to);
  }
};

}  // namespace gated
