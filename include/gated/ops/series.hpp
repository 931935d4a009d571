#pragma once

#include <span>

#include "gated/core/sequences.hpp"
#include "gated/ops/gather.hpp"

/// @file
/// Indexing ops on time series, with derivatives: unfold, transpose, concatenate.
///
/// A row is a series. An item is a group of consecutive series.

namespace gated {

/// How to unfold series into windows.
struct Windows {
  Index first = 0;     ///< start of the first window
  Index length = 0;    ///< length of each window
  Index stride = 1;    ///< distance between window starts
  Index count = 0;     ///< number of windows per series
  Index together = 1;  ///< series per group; a group's windows are sorted by time, then by series
};

/// Cuts each series into windows (patches), one per row of y. Windows may overlap.
/// Shapes: x is rows × L, y is (rows · count) × length.
/// Errors: ShapeError if a window goes past the end of its series, or `together` does not divide the rows.
/// Cost: one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> unfold(Run& run, const MatrixOf<Run>& x, const Windows& w) {
  const Index rows = run.rows(x), last = w.first + w.length + w.stride * (w.count - 1);
  require<ShapeError>(w.first >= 0 && w.length >= 0 && w.count >= 0 && last <= run.columns(x) && rows % w.together == 0,
                      "unfold: ", w.count, " windows of ", w.length, " values (first = ", w.first, ", stride = ", w.stride,
                      ") do not fit in x, which is ", rows, " × ", run.columns(x), ".");
  const auto y = run.make(rows * w.count, w.length);
  detail::move_numbers(run, x, y, [w, rows](const auto& visit) {
    for (Index r = 0; r < rows; ++r) {
      for (Index t = 0; t < w.count; ++t) {
        visit(r, w.first + t * w.stride, ((r / w.together) * w.count + t) * w.together + r % w.together, 0, w.length);
      }
    }
  });
  return y;
}

/// Transposes each item from `rows` × C to C × `rows`.
/// Shapes: x is (items · rows) × C, y is (items · C) × rows.
/// Cost: one copy, element by element.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> transpose_items(Run& run, const MatrixOf<Run>& x, Index rows) {
  const Index items = run.rows(x) / rows, columns = run.columns(x);
  const auto y = run.make(items * columns, rows);
  detail::move_numbers(run, x, y, [=](const auto& visit) {
    for (Index b = 0; b < items; ++b) {
      for (Index j = 0; j < columns; ++j) {
        for (Index i = 0; i < rows; ++i) {
          visit(b * rows + i, j, b * columns + j, i, 1);
        }
      }
    }
  });
  return y;
}

/// y = x with a row prepended to each series; here a series is `length` rows. The new row is row b of `first` for all series of
/// item b, or zeros if `first` is absent. The run's sequences are the items; the length of an item is its number of series.
/// Shapes: first is items × C, or absent; x is (series · length) × C, y is (series · (length + 1)) × C.
/// Cost: one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> prepend_to_series(Run& run, const MatrixOf<Run>& first, const MatrixOf<Run>& x, Index length) {
  const Index series = run.rows(x) / length, columns = run.columns(x);
  const auto y = run.make(series * (length + 1), columns);
  detail::move_numbers(run, x, y, [=](const auto& visit) {
    for (Index row = 0; row < series * length; ++row) {
      visit(row, 0, row + row / length + 1, 0, columns);
    }
  });
  if (!first) {
    View<T> rows = run[y];
    for (Index i = 0; i < series; ++i) {
      rows.row(i * (length + 1)).setZero();
    }
    return y;
  }
  const auto put = [length, columns](const Sequences& items, const auto& visit) {
    for (Index b = 0; b < items.count(); ++b) {
      for (Index i = 0; i < items.length(b); ++i) {
        visit(b, 0, (items.offset(b) + i) * (length + 1), 0, columns);
      }
    }
  };
  if constexpr (Run::records) {
    detail::move_numbers(run, first, y, [put, &tape = run.tape(), kept = run.kept_sequences()](const auto& visit) {
      put(tape.sequences(kept), visit);
    });
  } else {
    detail::move_numbers(run, first, y, [&](const auto& visit) { put(run.sequences(), visit); });
  }
  return y;
}

/// Layout of the series around a forecast: see surround_forecast().
struct ForecastSurroundings {
  Index series = 0;                  ///< M, series per item
  std::span<const Index> predicted;  ///< the forecast series of an item
  std::span<const Index> known;      ///< series with a known future, placed after the predicted ones
  Index horizon = 0;                 ///< F, number of forecast times
  Index context = 0;                 ///< c, number of times on each side of the forecast
  Index past_end = 0;                ///< column of x where the past ends; if 0, the past is all zeros
};

/// An item of y has a row [past | forecast | zeros] per predicted series, then a row [past | future | zeros] per known one. A
/// row has c + F + c values; the past is the c values of x before `past_end`. The spans in `s` must outlive the backward pass.
/// Shapes: forecast is (items · predicted) × F; x is (items · M) × L; future is (items · M) × F or wider, or absent if no
/// series is known.
/// Cost: one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> surround_forecast(Run& run, const MatrixOf<Run>& forecast, const MatrixOf<Run>& x, const MatrixOf<Run>& future,
                                const ForecastSurroundings& s) {
  const Index p = static_cast<Index>(s.predicted.size()), q = p + static_cast<Index>(s.known.size());
  const Index items = run.rows(x) / s.series, c = s.context;
  const auto y = run.make(items * q, c + s.horizon + c);
  View<T> all = run[y];
  all.setZero();
  detail::move_numbers(run, forecast, y, [=](const auto& visit) {
    for (Index row = 0; row < items * p; ++row) {
      visit(row, 0, row / p * q + row % p, c, s.horizon);
    }
  });
  const auto series = [s, p](Index k) {
    return k < p ? s.predicted[static_cast<std::size_t>(k)] : s.known[static_cast<std::size_t>(k - p)];
  };
  if (s.past_end > 0 && c > 0) {
    detail::move_numbers(run, x, y, [=](const auto& visit) {
      for (Index row = 0; row < items * q; ++row) {
        visit(row / q * s.series + series(row % q), s.past_end - c, row, 0, c);
      }
    });
  }
  if (q > p) {
    detail::move_numbers(run, future, y, [=](const auto& visit) {
      for (Index b = 0; b < items; ++b) {
        for (Index k = p; k < q; ++k) {
          visit(b * s.series + series(k), 0, b * q + k, c, s.horizon);
        }
      }
    });
  }
  return y;
}

}  // namespace gated
