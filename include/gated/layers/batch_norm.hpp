#pragma once

#include "gated/core/count.hpp"
#include "gated/core/layer.hpp"
#include "gated/ops/batch_norm.hpp"

/// @file
/// The batch norm of a trained model.

namespace gated {

/// y = (x - mean) / √(variance + ε) ⊙ weight + bias with the running statistics that a file holds (arXiv:1502.03167, Algorithm
/// 2): batch norm in inference.
///
/// Training here leaves the statistics as they are, as fine-tuning with frozen batch norms does.
/// Shapes: x and y are N × C; y may be x.
/// Errors: ShapeError.
/// Cost: one pass over x.
template <class T>
struct BatchNorm : TokenLayer<BatchNorm<T>, T> {
  using Scalar = T;
  static constexpr const char* name = "BatchNorm";

  double eps = 1e-5;
  Vector<T> weight, bias;    ///< C
  Vector<T> mean, variance;  ///< C, of the running statistics

  BatchNorm() = default;
  /// Weights and variances of 1, biases and means of 0.
  explicit BatchNorm(Index channels, double eps_ = 1e-5) : eps(eps_) {
    require<ArgumentError>(channels > 0 && eps_ >= 0, "BatchNorm: channels = ", channels, " must be positive, and eps = ", eps_,
                           " not negative.");
    expect_memory<T>(name, channels);
    weight = variance = Vector<T>::Ones(channels);
    bias = mean = Vector<T>::Zero(channels);
  }
  /// The values in one of this size.
  static Count value_count(Count channels) { return 4 * channels; }

  static constexpr auto fields() {
    return std::tuple{field("weight", &BatchNorm::weight, Role::norm), field("bias", &BatchNorm::bias, Role::norm),
                      field("mean", &BatchNorm::mean, Role::constant), field("variance", &BatchNorm::variance, Role::constant)};
  }

  Index in() const { return weight.size(); }
  Index out() const { return weight.size(); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    expect_columns<T>(name, "x", run[x], "channels", weight.size());
    return batch_normalise<Run, T>(run, x, {eps, &weight, &bias, &mean, &variance}, to);
  }
};

}  // namespace gated
