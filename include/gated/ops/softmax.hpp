#pragma once

#include "gated/ops/row_loops.hpp"
#include "gated/ops/scoring.hpp"

/// @file
/// Softmax over the rows of a score matrix.

namespace gated {

/// The columns that each row of a softmax sees.
template <class T>
struct SoftmaxOptions {
  bool causal = false;                 ///< row i sees only the columns j ≤ first + i
  Index first = 0;                     ///< position of row 0, for a block of a larger matrix
  Index reach = unlimited_reach;       ///< row i sees only the columns at most this far from first + i
  const T* visible_columns = nullptr;  ///< 0 or 1 per column: 0 hides the column from all rows
};

/// y_ij = exp(x_ij - m_i) / Σ_j' exp(x_ij' - m_i) with m_i = max_j x_ij, row by row, in place.
///
/// Hidden entries become 0 without being read; a row that sees nothing becomes all zeros. For attention scores:
/// softmax<T>(scores, workspace, {.causal = true, .first = first}).
/// Shapes: x is M × N.
/// Cost: three passes over each row while it is in cache.
template <class T>
void softmax(View<T> x, const Workspace<T>& workspace, const SoftmaxOptions<T>& options = {}) {
  for_each_block_of_rows(x.rows(), workspace, [&](Index row, Index rows) {
    kernels<AttentionKernels<T>>().softmax_rows(x.data() + row * x.outerStride(), x.outerStride(), rows, x.cols(),
                                                options.first + row, options.causal, options.reach,
                                                options.visible_columns);
  });
}

}  // namespace gated
