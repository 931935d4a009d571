#pragma once

#include "gated/ops/gradients.hpp"

/// @file
/// Normalisation of each row (token) over its channels, in all published forms.

namespace gated {

/// y = norm(x), row by row; `kept` receives the moments of the rows.
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
    GATED_KERNEL(normalise_rows<T>(x.data() + row * x.outerStride(), x.outerStride(), rows, x.cols(), norm,
                                   y.data() + row * y.outerStride(), y.outerStride(), kept == nullptr ? nullptr : kept + row));
  });
}

/// The backward pass through normalise(), whose moments are `moments`. With x̂ = (x - mean) · factor and g = ∂y ⊙ weight (or
/// gain · ∂y), row by row
///
///     ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂))        ∂weight = Σ ∂y ⊙ x̂, ∂bias = Σ ∂y over the tokens
///
/// for the LayerNorm; for the others mean = mean(g) = 0, the last term is absent where the size is clamped or nothing is
/// normalised, and ∂gain is the sum of ∂y ⊙ x̂ over all numbers.
/// Cost: three passes over the rows.
template <class Back, class Variable, class T = typename Back::Scalar>
void normalise_backward(Back& back, Variable x, Variable y, const NormParameters<T>& norm, const RowMoments<T>* moments) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const ConstView<T> dy = back.gradient(y);
  const Index rows = dy.rows(), channels = dy.cols();
  const auto value = reader<T>(back[x]), slope = reader<T>(dy);
  const T gain = norm.gain == nullptr ? T{1} : *norm.gain;
  const T centred = norm.form == NormForm::layer_norm ? T{1} : T{0};
  T* const dots = workspace.take(rows);  // Σ ∂y ⊙ x̂, of the ScaleNorms
  const bool wanted = back.wants_gradient(x);
  const auto target = wanted ? back.target(x) : typename Back::Target{back[x], false};
  T* const dx = const_cast<T*>(target.view.data());
  const Index stride = target.view.outerStride();
  for_each_row(rows, workspace, [&, weight = norm.weight, fresh = target.fresh](Index i) {  // while the row is in cache
    const Simd<T> mean(moments[i].mean), factor(moments[i].factor);
    const auto normalised = [&](Index j, Index lanes) { return (value(i, j, lanes) - mean) * factor; };
    const auto scaled = [&](Index j, Index lanes) {
      return weight == nullptr ? slope(i, j, lanes) : slope(i, j, lanes) * Simd<T>::load(weight + j, lanes);
    };
    Simd<T> sum(T{0}), product(T{0});
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> g = scaled(j, lanes);
      sum = sum + g;
      product = fma(g, normalised(j, lanes), product);
    });
    dots[i] = product.sum();
    const T count = static_cast<T>(channels);
    const Simd<T> mean_g(centred * sum.sum() / count), mean_product(moments[i].varies * dots[i] / count);
    const Simd<T> scale(gain * moments[i].factor);
    for_each_vector<T>(wanted ? channels : 0, [&](Index j, Index lanes) {
      T* const to = dx + i * stride + j;
      const Simd<T> change = scale * (scaled(j, lanes) - mean_g - normalised(j, lanes) * mean_product);
      (fresh ? change : Simd<T>::load(to, lanes) + change).store(to, lanes);
    });
  });
  if (T* const to = back.gradient_of(norm.weight)) {
    add_column_sums<T>(rows, channels, to, workspace, [&](Index i, Index j, Index lanes) {
      return slope(i, j, lanes) * ((value(i, j, lanes) - Simd<T>(moments[i].mean)) * Simd<T>(moments[i].factor));
    });
  }
  if (T* const to = back.gradient_of(norm.bias)) {
    add_column_sums<T>(dy, to, workspace);
  }
  if (T* const to = back.gradient_of(norm.gain)) {
    for (Index i = 0; i < rows; ++i) {
      *to += dots[i];
    }
  }
}

/// y = norm(x) as an op; x itself for NormForm::none.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows normalise(Run& run, const typename Run::Rows& x, const NormParameters<T>& norm,
                             const typename Run::Place& to) {
  if (norm.form == NormForm::none) {
    return x;
  }
  const auto y = run.make(run.count(x), run.width(x), to);
  if constexpr (Run::records) {
    static_assert(sizeof(RowMoments<T>) == 3 * sizeof(T));
    auto* const moments = reinterpret_cast<RowMoments<T>*>(run.take(3 * run.count(x)));
    normalise<T>(run[x], norm, run[y], run.workspace(), moments);
    run.push([x, y, norm, moments](auto& back) { normalise_backward(back, x, y, norm, moments); });
  } else {
    normalise<T>(run[x], norm, run[y], run.workspace());
  }
  return y;
}

}  // namespace gated
