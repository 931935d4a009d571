#pragma once

#include "gated/ops/row_loops.hpp"

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
  for_each_block_of_rows(x.rows(), workspace, [&](Index row, Index rows) {
    GATED_KERNEL(softmax_rows<T>(x.data() + row * x.outerStride(), x.outerStride(), rows, x.cols(), first + row, causal, keys));
  });
}

}  // namespace gated
