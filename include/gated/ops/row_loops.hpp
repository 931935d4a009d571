#pragma once

#include <algorithm>

#include "gated/core/workspace.hpp"
#include "gated/ops/simd.hpp"

/// @file
/// Loops over the rows (tokens) of a matrix.

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

}  // namespace gated
