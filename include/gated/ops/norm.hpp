#pragma once

#include "gated/ops/gradients.hpp"

/// @file
/// Normalization of each row (token) over its channels, in the forms of NormForm.

namespace gated {

/// y = norm(x), row by row. If `saved` is not nullptr, it receives the moments of each row.
/// Shapes: x and y are N × C; y may be x.
/// Cost: three passes over each row while it is in cache.
template <class T>
void normalize(const std::type_identity_t<ConstView<T>>& x, const NormParameters<T>& norm, std::type_identity_t<View<T>> y,
               const Workspace<T>& workspace, RowMoments<T>* saved = nullptr) {
  if (norm.form == NormForm::none) {
    if (y.data() != x.data()) {
      y = x;
    }
    return;
  }
  for_each_block_of_rows(x.rows(), workspace, [&](Index row, Index rows) {
    kernels<RowKernels<T>>().normalize_rows(x.data() + row * x.outerStride(), x.outerStride(), rows, x.cols(), norm,
                                            y.data() + row * y.outerStride(), y.outerStride(),
                                            saved == nullptr ? nullptr : saved + row);
  });
}

/// Backward pass of normalize(), given the moments that it saved. For LayerNorm, with x̂ = (x - mean) · factor and g = ∂y ⊙
/// weight, row by row:
///
///     ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂))        ∂weight = Σ ∂y ⊙ x̂, ∂bias = Σ ∂y over the tokens
///
/// In the other forms, mean and mean(g) are replaced by 0. For the ScaleNorms, g = gain · ∂y and ∂gain = Σ ∂y ⊙ x̂ over all
/// elements. The term with mean(g ⊙ x̂) is 0 where the factor is constant: for affine, and where scale_norm or l2_norm clamps
/// to eps. Adds to `dx`, or overwrites it if `fresh`; skips an empty `dx`.
/// Cost: three passes over the rows.
template <class Back, class T = typename Back::Scalar>
void normalize_backward(Back& back, const ConstView<T>& values, const ConstView<T>& dy, const NormParameters<T>& norm,
                        const RowMoments<T>* moments, const MatrixView<T>& dx, bool fresh) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const Index rows = dy.rows(), channels = dy.cols();
  T* const dots = workspace.take(rows);  // Σ ∂y ⊙ x̂ of each row, for ∂gain
  T *const weight_gradient = back.gradient_of(norm.weight), *const bias_gradient = back.gradient_of(norm.bias);
  const bool sums_up = weight_gradient != nullptr || bias_gradient != nullptr;
  MatrixMap<T> sums =
      workspace.matrix(sums_up ? (rows + rows_per_task - 1) / rows_per_task : 0, 2 * channels);  // one row per task
  for_each_block_of_rows(rows, workspace, [&](Index first, Index count) {
    T* const own = sums_up ? &sums.coeffRef(first / rows_per_task, 0) : nullptr;
    std::fill_n(own, sums_up ? 2 * channels : 0, T{0});
    kernels<DerivativeKernels<T>>().normalize_backward_rows(values.data() + first * values.outerStride(), values.outerStride(),
                                                            dy.data() + first * dy.outerStride(), dy.outerStride(), count,
                                                            channels, norm, moments + first, dots + first,
                                                            dx ? dx.data + first * dx.stride : nullptr, dx.stride, !fresh, own);
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

/// y = norm(x) as an op; returns x for NormForm::none. With several heads, the C columns of each head are normalized
/// separately, with the same parameters.
/// Shapes: x and y are N × heads·C; y may be x.
/// Cost: three passes over each row in cache, and three more for the backward pass; training keeps 3 values per row and head.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> normalize(Run& run, MatrixOf<Run> x, const NormParameters<T>& norm, Index heads = 1) {
  if (norm.form == NormForm::none) {
    return x;
  }
  const auto y = run.reuse(x);
  const Index rows = run.rows(x), width = run.columns(x) / heads;
  RowMoments<T>* moments = nullptr;
  if constexpr (Run::records) {
    static_assert(sizeof(RowMoments<T>) == 3 * sizeof(T));
    moments = reinterpret_cast<RowMoments<T>*>(run.take(3 * rows * heads));
    run.push([x, y, norm, heads, rows, width, moments](auto& back) {
      const bool wanted = back.wants_gradient(x);
      auto target = wanted ? back.target(x) : typename std::remove_cvref_t<decltype(back)>::Target{back[x], false};
      for (Index head = 0; head < heads; ++head) {
        const ConstView<T> values = back[x].middleCols(head * width, width);
        const ConstView<T> dy = back.gradient(y).middleCols(head * width, width);
        const MatrixView<T> dx = MatrixView<T>(target.view).columns(head * width, width);
        normalize_backward(back, values, dy, norm, moments + head * rows, wanted ? dx : MatrixView<T>(), target.fresh);
      }
    });
  }
  for (Index head = 0; head < heads; ++head) {
    const MatrixView<T> from = MatrixView<T>(run[x]).columns(head * width, width);
    normalize<T>(from, norm, MatrixView<T>(run[y]).columns(head * width, width), run.workspace(),
                 moments == nullptr ? nullptr : moments + head * rows);
  }
  return y;
}

}  // namespace gated
