#pragma once

#include "gated/ops/row_loops.hpp"

/// @file
/// Softmax over the rows of a score matrix.

namespace gated {

/// What a row of a softmax sees.
template <class T>
struct SoftmaxOptions {
  bool causal = false;                 ///< row i sees the columns j ≤ first + i only
  Index first = 0;                     ///< the position of row 0, for scores that are part of a larger matrix
  const T* visible_columns = nullptr;  ///< a 0 or 1 per column: 0 for one that no row sees
};

/// y_ij = exp(x_ij - m_i) / Σ_j' exp(x_ij' - m_i) with m_i = max_j x_ij, row by row, in place.
///
/// What a row does not see becomes 0, without being read, and so does a row that sees nothing. For scores of attention:
/// softmax<T>(scores, workspace, {.causal = true, .first = first}).
/// Shapes: x is M × N.
/// Cost: three passes over a row in cache.
template <class T>
void softmax(View<T> x, const Workspace<T>& workspace, const SoftmaxOptions<T>& options = {}) {
  for_each_block_of_rows(x.rows(), workspace, [&](Index row, Index rows) {
    kernels<AttentionKernels<T>>().softmax_rows(x.data() + row * x.outerStride(), x.outerStride(), rows, x.cols(),
                                                options.first + row, options.causal, options.visible_columns);
  });
}

}  // namespace gated
