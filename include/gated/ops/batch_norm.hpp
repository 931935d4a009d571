#pragma once

#include "gated/ops/gradients.hpp"

/// @file
/// Batch norm with frozen statistics.

namespace gated {

/// Parameters and running statistics of a batch norm, C values each. Non-owning.
template <class T>
struct BatchNormParameters {
  double eps;
  const Vector<T>*weight, *bias, *mean, *variance;
};

/// y = x̂ ⊙ weight + bias with x̂ = (x - mean) / √(variance + eps), channel by channel. ∂x = ∂y ⊙ weight / √(variance + eps);
/// ∂weight = Σ ∂y ⊙ x̂ and ∂bias = Σ ∂y over the tokens. The statistics are constants.
///
/// Shapes: x and y are N × C.
/// Cost: one pass over x, and two in the backward pass.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> batch_normalize(Run& run, MatrixOf<Run> x, const BatchNormParameters<T>& norm) {
  const auto y = run.reuse(x);
  T* const factors = run.take(run.columns(x));  // 1 / √(variance + eps)
  for (Index c = 0; c < run.columns(x); ++c) {
    factors[c] = T{1} / std::sqrt((*norm.variance)[c] + static_cast<T>(norm.eps));
  }
  const auto normed = [norm, factors](const View<T>& values) {
    return (reader<T>(values) - per_channel<T>(norm.mean->data())) * per_channel<T>(factors);
  };
  assign<T>(run[y], run.workspace(), normed(run[x]) * per_channel<T>(norm.weight->data()) + per_channel<T>(norm.bias->data()));
  if constexpr (Run::records) {
    run.push([x, y, norm, factors, normed](auto& back) {
      const ConstView<T> dy = back.gradient(y);
      if (T* const gradient = back.gradient_of(norm.weight->data())) {
        add_column_sums<T>(dy.rows(), dy.cols(), gradient, back.workspace(), reader<T>(dy) * normed(back[x]));
      }
      if (T* const gradient = back.gradient_of(norm.bias->data())) {
        add_column_sums<T>(dy, gradient, back.workspace());
      }
      add_gradient(back, x, reader<T>(dy) * per_channel<T>(norm.weight->data()) * per_channel<T>(factors));
    });
  }
  return y;
}

}  // namespace gated
