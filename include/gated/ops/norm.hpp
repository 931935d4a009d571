#pragma once

#include <cmath>

#include "gated/core/workspace.hpp"
#include "gated/ops/simd.hpp"

/// @file
/// Normalisation of each row (token) over its channels.

namespace gated {

/// Rows that one task of an element-wise loop takes.
inline constexpr Index rows_per_task = 32;

/// Calls `f(row)` for each of `rows` rows, in parallel tasks of rows_per_task where there are enough of them.
template <class T, class F>
void for_each_row(Index rows, const Workspace<T>& workspace, F&& f) {
  const Index tasks = (rows + rows_per_task - 1) / rows_per_task;
  parallel_for(tasks < 4 ? Threads{1} : workspace.threads(), tasks, [&](Index task, Index) {
    const Index last = std::min(rows, (task + 1) * rows_per_task);
    for (Index row = task * rows_per_task; row < last; ++row) {
      f(row);
    }
  });
}

/// What a LayerNorm knows of a row before it writes it.
template <class T>
struct RowMoments {
  T mean;
  T factor;  ///< 1 / √(var + eps)
};

/// Σ over the vectors of a row, `sum = add(sum, j, lanes)` for each: in four sums, none of which waits for another.
template <class T, class Add>
EIGEN_STRONG_INLINE T sum_of_row(Index channels, const Add& add) {
  constexpr Index width = Simd<T>::width, many = 4;
  Simd<T> sums[many] = {Simd<T>(T{0}), Simd<T>(T{0}), Simd<T>(T{0}), Simd<T>(T{0})};
  Index j = 0;
  for (; j + many * width <= channels; j += many * width) {
    GATED_UNROLL
    for (Index k = 0; k < many; ++k) {
      sums[k] = add(sums[k], j + k * width, width);
    }
  }
  for (; j < channels; j += width) {
    sums[0] = add(sums[0], j, std::min(width, channels - j));
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])).sum();
}

/// The variance is the biased one (divided by C), as in PyTorch, from centred values; eps stands inside the root.
template <class T>
RowMoments<T> row_moments(const T* row, Index channels, double eps) {
  const T reciprocal = T{1} / static_cast<T>(channels);
  const T mean = reciprocal * sum_of_row<T>(channels, [&](Simd<T> sum, Index j, Index lanes) {
                   return sum + Simd<T>::load(row + j, lanes);
                 });
  const T variance = reciprocal * sum_of_row<T>(channels, [&](Simd<T> sum, Index j, Index lanes) {
                       const Simd<T> centred = (Simd<T>::load(row + j, lanes) - Simd<T>(mean)).keep(lanes);
                       return fma(centred, centred, sum);
                     });
  return {mean, T{1} / std::sqrt(variance + static_cast<T>(eps))};
}

/// y = (x - mean(x)) / √(var(x) + eps) ⊙ scale + shift, row by row (Ba et al., arXiv:1607.06450).
///
/// A scale or shift of size 0 leaves its step out. Shapes: x and y are N × C; y may be x. Cost: three passes over a row in
/// cache.
template <class T>
void layer_norm(const ConstView<T>& x, const Vector<T>& scale, const Vector<T>& shift, double eps, View<T> y,
                const Workspace<T>& workspace) {
  const T* const a = scale.size() == 0 ? nullptr : scale.data();
  const T* const b = shift.size() == 0 ? nullptr : shift.data();
  for_each_row(x.rows(), workspace, [&](Index row) {
    const T* const from = x.data() + row * x.outerStride();
    T* const to = y.data() + row * y.outerStride();
    const RowMoments<T> moments = row_moments(from, x.cols(), eps);
    const Simd<T> mean(moments.mean), factor(moments.factor);
    for_each_vector<T>(x.cols(), [&](Index j, Index lanes) {
      Simd<T> value = (Simd<T>::load(from + j, lanes) - mean) * factor;
      value = a == nullptr ? value : value * Simd<T>::load(a + j, lanes);
      value = b == nullptr ? value : value + Simd<T>::load(b + j, lanes);
      value.store(to + j, lanes);
    });
  });
}

}  // namespace gated
