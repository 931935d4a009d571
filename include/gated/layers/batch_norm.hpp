#pragma once

#include "gated/core/unset.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/batch_norm.hpp"

/// @file
/// Batch norm with frozen statistics.

namespace gated {

/// y = (x - mean) / √(variance + ε) ⊙ weight + bias, with stored running statistics: batch norm at inference
/// (arXiv:1502.03167, Algorithm 2).
///
/// Training keeps the statistics frozen.
/// Shapes: x and y are N × C.
/// Errors: ShapeError.
/// Cost: one pass over x.
template <class T>
struct BatchNorm : Layer<BatchNorm<T>> {
  static constexpr const char* name = "BatchNorm";

  double eps = 1e-5;
  Vector<T> weight, bias;    ///< C
  Vector<T> mean, variance;  ///< C, running statistics

  BatchNorm() = default;
  /// Sets weight and variance to 1, and bias and mean to 0.
  explicit BatchNorm(Index channels, double eps_ = 1e-5) : eps(eps_) {
    require<ArgumentError>(channels > 0 && eps_ >= 0, "BatchNorm: channels = ", channels, " must be positive, and eps = ", eps_,
                           " must not be negative.");
    weight = filled_vector<T>(T{1}, channels, name);
    bias = filled_vector<T>(T{0}, channels, name);
    mean = filled_vector<T>(T{0}, channels, name);
    variance = filled_vector<T>(T{1}, channels, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &BatchNorm::weight, Role::norm), field("bias", &BatchNorm::bias, Role::norm),
                  field("mean", &BatchNorm::mean, Role::constant), field("variance", &BatchNorm::variance, Role::constant));
  }

  Contract contract() const { return {.in = weight.size(), .out = weight.size(), .sees = Sees::itself}; }

  auto apply(auto& run, auto x) const { return batch_normalize(run, std::move(x), parameters()); }

 private:
  BatchNormParameters<T> parameters() const { return {eps, &weight, &bias, &mean, &variance}; }
};

}  // namespace gated
