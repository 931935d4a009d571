#pragma once

#include <algorithm>
#include <span>

#include "gated/core/mask.hpp"
#include "gated/core/ordered_sum.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Gathers rows, zeroes hidden rows, repeats columns, and concatenates matrices side by side.

namespace gated {

namespace detail {

/// Copies to y the elements of x that `f` selects; the backward pass adds ∂y to ∂x at the same places. `f(visit)` calls
/// `visit(row of x, column, row of y, column, count)` for runs of adjacent elements. `f` is copied bytewise: see Tape::push().
template <class Run, class F, class T = typename Run::Scalar>
void move_numbers(Run& run, const MatrixOf<Run>& x, const MatrixOf<Run>& y, const F& f) {
  const ConstView<T> from = run[x];
  View<T> to = run[y];
  f([&](Index x_row, Index x_column, Index y_row, Index y_column, Index count) {
    std::copy_n(&from.coeffRef(x_row, x_column), count, &to.coeffRef(y_row, y_column));
  });
  if constexpr (Run::records) {
    run.push([x, y, f](auto& back) {
      if (!back.wants_gradient(x)) {
        return;
      }
      const ConstView<T> dy = back.gradient(y);
      View<T> dx = accumulator(back, x);
      f([&](Index x_row, Index x_column, Index y_row, Index y_column, Index count) {
        dx.row(x_row).segment(x_column, count) += dy.row(y_row).segment(y_column, count);
      });
    });
  }
}

}  // namespace detail

/// From each group of `of` consecutive rows of x, gathers the rows with indices rows[0], rows[1], …, which may repeat. Keeps
/// only the first `columns` columns.
/// Shapes: x is (items · of) × C, y is (items · rows.size()) × columns.
/// Errors: ArgumentError if a row is out of range; ShapeError if x has fewer than `columns` columns or an incomplete group.
/// Cost: one copy of the gathered elements.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> gather(Run& run, const MatrixOf<Run>& x, std::span<const Index> rows, Index of, Index columns) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require<ArgumentError>(rows[i] >= 0 && rows[i] < of, "gather: rows[", i, "] is ", rows[i], ", expected 0 … ", of - 1, ".");
  }
  require<ShapeError>(columns >= 0 && columns <= run.columns(x) && (of == 0 || run.rows(x) % of == 0),
                      "gather: expected at least ", columns, " columns and groups of ", of, " rows, but x is ", run.rows(x),
                      " × ", run.columns(x), ".");
  const Index items = of == 0 ? 0 : run.rows(x) / of, number = static_cast<Index>(rows.size());
  if constexpr (Run::records) {
    rows = run.keep(rows);
  }
  const auto y = run.make(items * number, columns);
  detail::move_numbers(run, x, y, [=](const auto& visit) {
    for (Index row = 0; row < items * number; ++row) {
      visit(row / number * of + rows[static_cast<std::size_t>(row % number)], 0, row, 0, columns);
    }
  });
  return y;
}
/// Gathers rows of x: y[i] = x[rows[i]].
template <class Run>
MatrixOf<Run> gather(Run& run, const MatrixOf<Run>& x, std::span<const Index> rows) {
  return gather(run, x, rows, run.rows(x), run.columns(x));
}

/// y = [a | b]: the columns of a, then those of b.
/// Shapes: a is N × A, b is N × B, y is N × (A + B).
/// Errors: ShapeError if a and b have different numbers of rows.
/// Cost: one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> concatenate(Run& run, const MatrixOf<Run>& a, const MatrixOf<Run>& b) {
  const Index rows = run.rows(a);
  require<ShapeError>(run.rows(b) == rows, "concatenate: a has ", rows, " rows and b has ", run.rows(b),
                      ", expected equal numbers.");
  const auto y = run.make(rows, run.columns(a) + run.columns(b));
  Index first = 0;
  for (const auto* x : {&a, &b}) {
    const Index columns = run.columns(*x);
    detail::move_numbers(run, *x, y, [rows, columns, first](const auto& visit) {
      for (Index row = 0; row < rows; ++row) {
        visit(row, 0, row, first, columns);
      }
    });
    first += columns;
  }
  return y;
}

/// y = x with each column repeated `times` times: y_ij = x_i⌊j / times⌋. Backward, ∂x sums ∂y over the copies.
/// Shapes: x is N × C, y is N × C·times.
/// Cost: one pass over y.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> repeat_columns(Run& run, const MatrixOf<Run>& x, Index times) {
  const auto y = run.make(run.rows(x), run.columns(x) * times);
  const MatrixView<const T> from = run[x];
  const MatrixView<T> to = run[y];
  for_each_row(to.rows(), run.workspace(), [&](Index i) {
    for (Index j = 0; j < from.columns(); ++j) {
      std::fill_n(to.data + i * to.stride + j * times, times, from.data[i * from.stride + j]);
    }
  });
  if constexpr (Run::records) {
    run.push([x, y, times](auto& back) {
      if (!back.wants_gradient(x)) {
        return;
      }
      const ConstView<T> dy = back.gradient(y);
      View<T> dx = accumulator(back, x);
      for_each_row(dx.rows(), back.workspace(), [&](Index i) {
        for (Index j = 0; j < dx.cols(); ++j) {
          dx(i, j) += ordered_sum(dy.row(i).segment(j * times, times));
        }
      });
    });
  }
  return y;
}

/// y = x with 0 in the rows of hidden tokens, even where x is NaN or infinite. Returns x if `mask` is empty.
/// Errors: ShapeError unless the mask has one entry per row of x.
/// Cost: one copy if there is a mask.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> clear_hidden_rows(Run& run, const MatrixOf<Run>& x, Mask mask) {
  if (mask.empty()) {
    return x;
  }
  require<ShapeError>(static_cast<Index>(mask.size()) == run.rows(x), "clear_hidden_rows: the mask has ", mask.size(),
                      " entries, expected ", run.rows(x), ", one per row of x.");
  const auto y = run.make(run.rows(x), run.columns(x));
  View<T>(run[y]).setZero();
  detail::move_numbers(run, x, y, [mask, columns = run.columns(x)](const auto& visit) {
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 0) {
        visit(static_cast<Index>(i), 0, static_cast<Index>(i), 0, columns);
      }
    }
  });
  return y;
}

}  // namespace gated
