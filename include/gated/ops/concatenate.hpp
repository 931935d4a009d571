#pragma once

#include "gated/ops/gather.hpp"

/// @file
/// Concatenates the columns of two matrices.

namespace gated {

/// y = [a | b]. ∂a and ∂b are the parts of ∂y.
/// Shapes: a is N × A, b is N × B, y is N × (A + B).
/// Errors: ShapeError if a and b differ in rows.
/// Cost: one copy.
template <class Run>
MatrixOf<Run> concatenate_columns(Run& run, const MatrixOf<Run>& a, const MatrixOf<Run>& b) {
  const Index rows = run.rows(a), left = run.columns(a), right = run.columns(b);
  require<ShapeError>(run.rows(b) == rows, "concatenate_columns: a has ", rows, " rows and b has ", run.rows(b),
                      ", expected as many.");
  const auto y = run.make(rows, left + right);
  const auto put = [&](const MatrixOf<Run>& x, Index first, Index columns) {
    detail::move_numbers(run, x, y, [rows, first, columns](const auto& visit) {
      for (Index row = 0; row < rows; ++row) {
        visit(row, 0, row, first, columns);
      }
    });
  };
  put(a, 0, left);
  put(b, left, right);
  return y;
}

}  // namespace gated
