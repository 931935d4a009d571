#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "gated/core/mask.hpp"
#include "gated/core/ordered_sum.hpp"
#include "gated/core/words.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Ops that scale time series and unscale forecasts, with their derivatives.

namespace gated {

/// How to compute the location μ and scale σ of a series.
enum class SeriesScaling {
  standard,  ///< μ = its mean, σ = √(variance + 1e-5)
  mean,      ///< μ = 0, σ = the mean of |x|, at least 1e-10
  none       ///< μ = 0, σ = 1
};

constexpr auto names_of(SeriesScaling) { return words_for<SeriesScaling>("standard", "mean", "none"); }

/// The result of scale_series().
template <class RowsType>
struct ScaledSeries {
  RowsType x;         ///< (x - μ) / σ
  RowsType location;  ///< μ, one per row
  RowsType scale;     ///< σ, one per row
};

namespace detail {

/// The mask of observed values. A NaN always counts as unobserved.
template <class T>
struct ObservedSeries {
  const std::uint8_t* mask;  ///< rows × columns, or nullptr if all are observed
  Index columns;

  ObservedSeries(Mask observed, Index width) : mask(observed.empty() ? nullptr : observed.data()), columns(width) {}

  bool counts(const ConstView<T>& x, Index row, Index column) const {
    return (mask == nullptr || mask[row * columns + column] != 0) && !std::isnan(x(row, column));
  }
  /// True if a value is replaced by 0: it is unobserved, and NaN or infinite.
  bool is_filled(const ConstView<T>& x, Index row, Index column) const {
    return !std::isfinite(x(row, column)) && !counts(x, row, column);
  }
  T filled(const ConstView<T>& x, Index row, Index column) const { return is_filled(x, row, column) ? T{0} : x(row, column); }

  Index counted(const ConstView<T>& x, Index row) const {
    Index count = 0;
    for (Index j = 0; j < columns; ++j) {
      count += counts(x, row, j) ? 1 : 0;
    }
    return count;
  }
  /// Σ f(x) over the observed values of a row.
  template <class F>
  double sum(const ConstView<T>& x, Index row, const F& f) const {
    double sums[4] = {0, 0, 0, 0};  // four independent chains of additions
    for (Index j = 0; j < columns; ++j) {
      sums[j % 4] += counts(x, row, j) ? f(static_cast<double>(x(row, j))) : 0;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
};

inline constexpr double least_series_scale = 1e-10, series_variance_eps = 1e-5;

/// Calls `f(i)` for each row i that has the same index within its item as `row` has within its own.
template <class F>
void for_each_same_series(const Sequences& items, Index row, const F& f) {
  const Index own = items.first_from(row + 1) - 1, series = row - items.offset(own);
  for (Index b = 0; b < items.count(); ++b) {
    if (series < items.length(b)) {
      f(items.offset(b) + series);
    }
  }
}

/// Raises ShapeError unless `observed` is empty or has an entry per element of x.
inline void expect_observed(const char* op, Mask observed, Index rows, Index columns) {
  require<ShapeError>(observed.empty() || static_cast<Index>(observed.size()) == rows * columns, op, ": the mask has ",
                      observed.size(), " entries, expected ", rows, " × ", columns, ", one per element of x.");
}

/// Backward pass of scale_series(). For standard scaling over c observed values, ∂σ/∂x = (x - μ) / (σ c), since Σ (x - μ) = 0.
template <class Back, class Variable, class T = typename Back::Scalar>
void scale_series_backward(Back& back, Variable x, const ScaledSeries<Variable>& y, SeriesScaling scaling,
                           const ObservedSeries<T>& observed, const Sequences& items) {
  const ConstView<T> values = back[x], scaled = back[y.x], scale = back[y.scale];
  const ConstView<T> d_scaled = back.gradient(y.x), d_location = back.gradient(y.location), d_scale = back.gradient(y.scale);
  View<T> dx = accumulator(back, x);
  for (Index i = 0; i < values.rows(); ++i) {
    const double sigma = static_cast<double>(scale(i, 0));
    double through_location = static_cast<double>(d_location(i, 0)), through_scale = static_cast<double>(d_scale(i, 0));
    for (Index j = 0; j < values.cols(); ++j) {
      const double gradient = static_cast<double>(d_scaled(i, j)) / sigma;
      through_location -= gradient;
      through_scale -= rounded(gradient * static_cast<double>(scaled(i, j)));
      dx(i, j) += observed.is_filled(values, i, j) ? T{0} : static_cast<T>(gradient);
    }
    const Index counted = observed.counted(values, i);
    if (scaling == SeriesScaling::standard) {
      const double count = std::max(static_cast<double>(counted), 1.0);
      for (Index j = 0; j < values.cols(); ++j) {
        const double share = (through_location + rounded(through_scale * static_cast<double>(scaled(i, j)))) / count;
        dx(i, j) += observed.counts(values, i, j) ? static_cast<T>(share) : T{0};
      }
    } else if (scaling == SeriesScaling::mean && sigma > static_cast<double>(static_cast<T>(detail::least_series_scale))) {
      const auto give = [&](Index row, double count) {
        for (Index j = 0; j < values.cols(); ++j) {
          if (observed.counts(values, row, j) && values(row, j) != T{0}) {
            const double share = through_scale / count;
            dx(row, j) += static_cast<T>(values(row, j) > T{0} ? share : -share);
          }
        }
      };
      if (counted > 0) {
        give(i, static_cast<double>(counted));
      } else {
        double count = 0;
        detail::for_each_same_series(items, i,
                                     [&](Index other) { count += static_cast<double>(observed.counted(values, other)); });
        detail::for_each_same_series(items, i, [&](Index other) { give(other, std::max(count, 1.0)); });
      }
    }
  }
}

/// μ and σ of series i.
template <class T>
std::pair<double, double> moments_of(const ObservedSeries<T>& observed, SeriesScaling scaling, const ConstView<T>& values,
                                     Index i, const Sequences& items) {
  const auto counted = static_cast<double>(observed.counted(values, i));
  if (scaling == SeriesScaling::standard) {
    const double count = std::max(counted, 1.0), mean = observed.sum(values, i, [](double v) { return v; }) / count;
    const double squares = observed.sum(values, i, [mean](double v) { return rounded((v - mean) * (v - mean)); });
    return {mean, std::sqrt(squares / count + series_variance_eps)};
  }
  if (scaling != SeriesScaling::mean) {
    return {0, 1};
  }
  const auto magnitude = [](double v) { return std::abs(v); };
  double sum = 0, count = counted;
  if (counted > 0) {
    sum = observed.sum(values, i, magnitude);
  } else {
    for_each_same_series(items, i, [&](Index other) {
      sum += observed.sum(values, other, magnitude);
      count += static_cast<double>(observed.counted(values, other));
    });
    count = std::max(count, 1.0);
  }
  const double size = sum / count;
  return {0, size < least_series_scale ? least_series_scale : size};  // NaN passes through
}

}  // namespace detail

/// y = (x - μ) / σ, row by row; a row of x is a series. μ and σ are computed from the values where `observed` is 1, or from all
/// values if `observed` is empty.
///
/// Unobserved values are scaled too. A NaN always counts as unobserved. Unobserved NaNs and infinities are read as 0
/// (granite-tsfm's data sets also fill NaNs with 0). With SeriesScaling::mean, the scale of a series without observed values is
/// computed from the same series in the other items. The items are the run's sequences.
/// Shapes: x is rows × L, `observed` has rows · L entries or is empty; μ and σ are rows × 1.
/// Errors: ShapeError if the mask has a different size.
/// Cost: three passes over x; sums are in double.
template <class Run, class T = typename Run::Scalar>
ScaledSeries<MatrixOf<Run>> scale_series(Run& run, const MatrixOf<Run>& x, SeriesScaling scaling, Mask observed) {
  const Index rows = run.rows(x), columns = run.columns(x);
  detail::expect_observed("scale_series", observed, rows, columns);
  observed = kept(run, observed);
  ScaledSeries<MatrixOf<Run>> y{run.make(rows, columns), run.make(rows, 1), run.make(rows, 1)};
  const detail::ObservedSeries<T> seen(observed, columns);
  const ConstView<T> values = run[x];
  View<T> scaled = run[y.x], location = run[y.location], scale = run[y.scale];
  const Sequences& items = run.sequences();
  for_each_row(rows, run.workspace(), [&](Index i) {
    const auto [mean, deviation] = detail::moments_of(seen, scaling, values, i, items);
    location(i, 0) = static_cast<T>(mean);
    scale(i, 0) = static_cast<T>(deviation);
    const double factor = 1 / deviation;
    for (Index j = 0; j < columns; ++j) {
      scaled(i, j) = static_cast<T>((static_cast<double>(seen.filled(values, i, j)) - mean) * factor);
    }
  });
  if constexpr (Run::records) {
    run.push([x, y, scaling, seen, kept = run.kept_sequences()](auto& back) {
      if (back.wants_gradient(x)) {
        detail::scale_series_backward(back, x, y, scaling, seen, back.sequences(kept));
      }
    });
  }
  return y;
}

/// y = x with unobserved NaNs and infinities replaced by 0, as in scale_series().
/// Shapes: as in scale_series().
/// Cost: one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> fill_gaps(Run& run, const MatrixOf<Run>& x, Mask observed) {
  detail::expect_observed("fill_gaps", observed, run.rows(x), run.columns(x));
  observed = kept(run, observed);
  const detail::ObservedSeries<T> seen(observed, run.columns(x));
  const auto y = run.make(run.rows(x), run.columns(x));
  const ConstView<T> values = run[x];
  View<T> filled = run[y];
  for_each_row(values.rows(), run.workspace(), [&](Index i) {
    for (Index j = 0; j < values.cols(); ++j) {
      filled(i, j) = seen.filled(values, i, j);
    }
  });
  if constexpr (Run::records) {
    run.push([x, y, seen](auto& back) {
      if (!back.wants_gradient(x)) {
        return;
      }
      const ConstView<T> of = back[x], dy = back.gradient(y);
      View<T> dx = accumulator(back, x);
      for (Index i = 0; i < dy.rows(); ++i) {
        for (Index j = 0; j < dy.cols(); ++j) {
          dx(i, j) += seen.is_filled(of, i, j) ? T{0} : dy(i, j);
        }
      }
    });
  }
  return y;
}

/// y = x ⊙ σ + μ, row by row: undoes scale_series(). ∂x = ∂y ⊙ σ, ∂σ = Σ ∂y ⊙ x, ∂μ = Σ ∂y.
/// Errors: ShapeError if location or scale is not rows × 1.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> unscale_series(Run& run, MatrixOf<Run> x, const MatrixOf<Run>& location, const MatrixOf<Run>& scale) {
  for (const auto& moment : {location, scale}) {
    require<ShapeError>(run.rows(moment) == run.rows(x) && run.columns(moment) == 1, "unscale_series: location and scale are ",
                        run.rows(moment), " × ", run.columns(moment), ", expected ", run.rows(x), " × 1.");
  }
  const auto y = run.reuse(x);
  const auto column = [](const View<T>& moment) { return per_row<T>(moment.data(), moment.outerStride()); };
  assign<T>(run[y], run.workspace(), reader<T>(run[x]) * column(run[scale]) + column(run[location]));
  if constexpr (Run::records) {
    run.push([x, location, scale, y, column](auto& back) {
      const ConstView<T> dy = back.gradient(y), values = back[x];
      View<T> d_location = accumulator(back, location), d_scale = accumulator(back, scale);
      for (Index i = 0; i < dy.rows(); ++i) {
        d_location(i, 0) += ordered_sum(dy.row(i));
        d_scale(i, 0) += ordered_dot(dy.row(i), values.row(i));
      }
      add_gradient(back, x, reader<T>(dy) * column(back[scale]));
    });
  }
  return y;
}

}  // namespace gated
