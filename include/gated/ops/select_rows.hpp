#pragma once

#include <span>

#include "gated/ops/gradients.hpp"

/// @file
/// Some rows of a matrix: the masked ones, whose words a model is asked for.

namespace gated {

/// y[i] = x[rows[i]]; ∂x[rows[i]] += ∂y[i]. A row may be selected more than once.
/// Shapes: x is N × C, y is as many rows × C.
/// Errors: ArgumentError for a row that x does not have.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> select_rows(Run& run, const MatrixOf<Run>& x, std::span<const Index> rows) {
  const Index count = run.count(x);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require<ArgumentError>(rows[i] >= 0 && rows[i] < count, "select_rows: rows[", i, "] is ", rows[i], ", expected 0 … ",
                           count - 1, ".");
  }
  const auto y = run.make(static_cast<Index>(rows.size()), run.width(x));
  const View<T> from = run[x];
  View<T> to = run[y];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    to.row(static_cast<Index>(i)) = from.row(rows[i]);
  }
  if constexpr (Run::records) {
    run.push([x, y, rows = run.keep(rows)](auto& back) {
      const ConstView<T> dy = back.gradient(y);
      View<T> dx = accumulator(back, x);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        dx.row(rows[i]) += dy.row(static_cast<Index>(i));
      }
    });
  }
  return y;
}

}  // namespace gated
