#pragma once

#include "gated/core/parameter_budget.hpp"
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
    expect_memory<T>(name, channels);
    weight = variance = Vector<T>::Ones(channels);
    bias = mean = Vector<T>::Zero(channels);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &BatchNorm::weight, Role::norm), field("bias", &BatchNorm::bias, Role::norm),
                      field("mean", &BatchNorm::mean, Role::constant), field("variance", &BatchNorm::variance, Role::constant)};
  }

  Contract contract() const { return {.in = weight.size(), .out = weight.size(), .sees = Sees::itself}; }

  auto apply(auto& run, auto x) const { return batch_normalise(run, std::move(x), parameters()); }

 private:
  BatchNormParameters<T> parameters() const { return {eps, &weight, &bias, &mean, &variance}; }
};

}  // namespace gated
