#pragma once

#include <limits>

#include "gated/ops/row_loops.hpp"
#include "gated/ops/running_sum.hpp"
#include "gated/ops/special.hpp"

/// @file
/// Softmax over the rows of a score matrix.

namespace gated {

/// y_ij = exp(x_ij - m_i) / Σ_j' exp(x_ij' - m_i) with m_i = max_j x_ij, row by row, in place.
///
/// With `causal`, row i sees the columns j ≤ first + i only and the others become 0, without being read; `first` is the
/// position of row 0, for scores that are part of a larger matrix. `keys` (a 0 or 1 per column, or nullptr) takes columns away
/// likewise; a row that sees no column becomes 0.
/// Shapes: x is M × N.
/// Cost: three passes over a row in cache.
template <class T>
void softmax(View<T> x, bool causal, const Workspace<T>& workspace, Index first = 0, const T* keys = nullptr) {
  for_each_row(x.rows(), workspace, [&](Index row) {
    T* const data = x.data() + row * x.outerStride();
    const Index visible = causal ? std::min(first + row + 1, x.cols()) : x.cols();

    T largest = -std::numeric_limits<T>::infinity();
    bool empty = true;
    for (Index j = 0; j < visible; ++j) {
      if (keys == nullptr || keys[j] != T{0}) {
        largest = data[j] > largest ? data[j] : largest;
        empty = false;
      }
    }
    if (empty) {
      std::fill(data, data + x.cols(), T{0});
      return;
    }
    RunningSum<T> sum;
    for_each_vector<T>(visible, [&](Index j, Index lanes) {
      // A hidden column may hold anything: what it gives must neither overflow nor count.
      Simd<T> value = exp_of_negative(Simd<T>::load(data + j, lanes) - Simd<T>(largest)).keep(lanes);
      value = keys == nullptr ? value : select_less(Simd<T>(T{0}), Simd<T>::load(keys + j, lanes), value, Simd<T>(T{0}));
      value.store(data + j, lanes);
      sum.add(value);
    });
    const Simd<T> factor(T{1} / sum.total());
    for_each_vector<T>(visible,
                       [&](Index j, Index lanes) { (Simd<T>::load(data + j, lanes) * factor).store(data + j, lanes); });
    std::fill(data + visible, data + x.cols(), T{0});
  });
}

}  // namespace gated
