#pragma once

#include "gated/ops/gradients.hpp"

/// @file
/// Normalisation of each row (token) over its channels, in every published form.

namespace gated {

/// y = norm(x), row by row. If `kept` is not nullptr, it receives the moments of each row.
/// Shapes: x and y are N × C; y may be x.
/// Cost: three passes over a row in cache.
template <class T>
void normalise(const std::type_identity_t<ConstView<T>>& x, const NormParameters<T>& norm, std::type_identity_t<View<T>> y,
               const Workspace<T>& workspace, RowMoments<T>* kept = nullptr) {
  if (norm.form == NormForm::none) {
    if (y.data() != x.data()) {
      y = x;
    }
    return;
  }
  for_each_block_of_rows(x.rows(), workspace, [&](Index row, Index rows) {
    kernels<RowKernels<T>>().normalise_rows(x.data() + row * x.outerStride(), x.outerStride(), rows, x.cols(), norm,
                                            y.data() + row * y.outerStride(), y.outerStride(),
                                            kept == nullptr ? nullptr : kept + row);
  });
}

/// Backward pass of normalise(), given its moments. For LayerNorm, with x̂ = (x - mean) · factor and g = ∂y ⊙ weight, row by
/// row:
///
///     ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂))        ∂weight = Σ ∂y ⊙ x̂, ∂bias = Σ ∂y over the tokens
///
/// In the other forms, mean and mean(g) are 0. The ScaleNorms have g = gain · ∂y, and ∂gain = Σ ∂y ⊙ x̂ over all elements. The
/// term with mean(g ⊙ x̂) vanishes if the factor does not depend on the row: for affine, and if scale_norm clamps to eps.
/// Cost: three passes over the rows.
template <class Back, class Variable, class T = typename Back::Scalar>
void normalise_backward(Back& back, Variable x, Variable y, const NormParameters<T>& norm, const RowMoments<T>* moments) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const ConstView<T> dy = back.gradient(y);
  const Index rows = dy.rows(), channels = dy.cols();
  const View<T> values = back[x];
  T* const dots = workspace.take(rows);  // Σ ∂y ⊙ x̂ per row, for the ScaleNorms
  const bool wanted = back.wants_gradient(x);
  const auto target = wanted ? back.target(x) : typename Back::Target{back[x], false};
  T* const dx = wanted ? const_cast<T*>(target.view.data()) : nullptr;
  const Index stride = target.view.outerStride();
  T *const weight_gradient = back.gradient_of(norm.weight), *const bias_gradient = back.gradient_of(norm.bias);
  const bool sums_up = weight_gradient != nullptr || bias_gradient != nullptr;
  MatrixMap<T> sums =
      workspace.matrix(sums_up ? (rows + rows_per_task - 1) / rows_per_task : 0, 2 * channels);  // a row per block
  for_each_block_of_rows(rows, workspace, [&, adds = !target.fresh](Index first, Index count) {  // while the rows are in cache
    T* const own = sums_up ? &sums.coeffRef(first / rows_per_task, 0) : nullptr;
    std::fill_n(own, sums_up ? 2 * channels : 0, T{0});
    kernels<DerivativeKernels<T>>().normalise_backward_rows(values.data() + first * values.outerStride(), values.outerStride(),
                                                            dy.data() + first * dy.outerStride(), dy.outerStride(), count,
                                                            channels, norm, moments + first, dots + first,
                                                            wanted ? dx + first * stride : nullptr, stride, adds, own);
  });
  if (weight_gradient != nullptr) {
    add_column_sums<T>(sums.leftCols(channels), weight_gradient, workspace);
  }
  if (bias_gradient != nullptr) {
    add_column_sums<T>(sums.rightCols(channels), bias_gradient, workspace);
  }
  if (T* const to = back.gradient_of(norm.gain)) {
    for (Index i = 0; i < rows; ++i) {
      *to += dots[i];
    }
  }
}

/// y = norm(x) as an op; returns x for NormForm::none.
/// Shapes: x and y are N × C; y may be x.
/// Cost: three passes over a row in cache, three more backward; training keeps three values per row.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> normalise(Run& run, MatrixOf<Run> x, const NormParameters<T>& norm) {
  if (norm.form == NormForm::none) {
    return x;
  }
  const auto y = run.reuse(x);
  if constexpr (Run::records) {
    static_assert(sizeof(RowMoments<T>) == 3 * sizeof(T));
    auto* const moments = reinterpret_cast<RowMoments<T>*>(run.take(3 * run.rows(x)));
    normalise<T>(run[x], norm, run[y], run.workspace(), moments);
    run.push([x, y, norm, moments](auto& back) { normalise_backward(back, x, y, norm, moments); });
  } else {
    normalise<T>(run[x], norm, run[y], run.workspace());
  }
  return y;
}

}  // namespace gated
