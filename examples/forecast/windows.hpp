#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gated/train/regression_loss.hpp"
#include "model_file.hpp"
#include "table.hpp"

namespace forecast {

using gated::Index, gated::Matrix;

/// The indices of the series that a model forecasts.
inline std::vector<Index> forecast_series(const Model& model, const Table& table) {
  std::vector<Index> chosen = model.chosen;
  for (Index k = 0; model.chosen.empty() && k < table.series(); ++k) {
    chosen.push_back(k);
  }
  return chosen;
}

/// The series of a table, standardized by the mean and deviation of their training rows. A window is identified by the first
/// row of its forecast.
struct Series {
  const Table& table;
  Index context, horizon;
  Index training_rows, test_row;  ///< the number of training rows (70 %); the first test row (at 80 %)
  std::vector<double> mean, deviation;
  Matrix<float> values;  ///< standardized; 0 in gaps

  Series(const Table& t, Index context_, Index horizon_)
      : table(t),
        context(context_),
        horizon(horizon_),
        training_rows(t.past * 7 / 10),
        test_row(t.past * 8 / 10),
        values(t.series(), t.length()) {
    gated::require<gated::ShapeError>(t.past >= context + horizon, "the series have ", t.past, " rows, but the model sees ",
                                      context, " and forecasts ", horizon,
                                      ". Use longer series, or a model with a shorter context.");
    for (Index m = 0; m < t.series(); ++m) {
      double sum = 0, squares = 0, count = 0;
      for (Index i = 0; i < training_rows; ++i) {
        sum += seen(m, i) ? t.values(m, i) : 0;
        count += seen(m, i) ? 1 : 0;
      }
      gated::require<gated::ShapeError>(count > 0, "the column \"", t.names[static_cast<std::size_t>(m)],
                                        "\" has no values in the ", training_rows,
                                        " rows (70 %) that give its mean and deviation. Leave out the column, or the "
                                        "rows before its first value.");
      mean.push_back(sum / count);
      for (Index i = 0; i < training_rows; ++i) {
        squares += seen(m, i) ? std::pow(t.values(m, i) - mean.back(), 2) : 0;
      }
      deviation.push_back(squares > 0 ? std::sqrt(squares / count) : 1);
      for (Index i = 0; i < t.length(); ++i) {
        values(m, i) = seen(m, i) ? static_cast<float>((t.values(m, i) - mean.back()) / deviation.back()) : 0;
      }
    }
  }

  bool seen(Index series, Index row) const {
    return table.observed[static_cast<std::size_t>(series * table.length() + row)] != 0;
  }

  /// The windows whose forecasts lie in rows [first, last).
  std::vector<Index> windows(Index first, Index last) const {
    std::vector<Index> rows;
    for (Index row = std::max(first, context); row + horizon <= last; ++row) {
      rows.push_back(row);
    }
    return rows;
  }
};

/// A model's input and targets for some windows; all series of a window form one batch item.
struct Batch {
  Matrix<float> x, target;  ///< one row per window and series; `target` has forecast series only
  Matrix<float> future;     ///< values of the known series over the horizon, row by row as in x; empty if none
  std::vector<std::uint8_t> observed, target_observed;
  std::vector<Index> resolution;
  gated::Sequences items = gated::Sequences::single(0);

  void fill(const Series& series, const Model& model, std::span<const Index> windows, Index frequency) {
    const Index m = series.table.series(), count = static_cast<Index>(windows.size());
    const Index context = model.config.context, given = model.out();
    const std::vector<Index> chosen = forecast_series(model, series.table);
    const auto p = static_cast<Index>(chosen.size());
    items = gated::Sequences::uniform(count, m);
    resolution.assign(model.config.resolutions > 0 ? windows.size() : 0, frequency);
    x.resize(count * m, context);
    target.setZero(count * p, given);
    future.setZero(model.config.known.empty() ? 0 : count * m, given);
    observed.clear();
    target_observed.clear();
    for (Index b = 0; b < count; ++b) {
      const Index row = windows[static_cast<std::size_t>(b)];
      for (Index k = 0; k < m; ++k) {
        x.row(b * m + k) = series.values.row(k).segment(row - context, context);
        for (Index i = row - context; i < row; ++i) {
          observed.push_back(series.seen(k, i) ? 1 : 0);
        }
      }
      for (const Index k : model.config.known) {
        Index rows = 0;
        while (rows < given && row + rows < series.table.length() && series.seen(k, row + rows)) {
          ++rows;
        }
        gated::require<gated::ShapeError>(rows == given, "the column \"", series.table.names[static_cast<std::size_t>(k)],
                                          "\" has values in ", rows, " future rows, but the model needs ", given,
                                          ". Add rows with values only in the columns of --known.");
        future.row(b * m + k) = series.values.row(k).segment(row, given);
      }
      for (Index k = 0; k < p; ++k) {
        const Index one = chosen[static_cast<std::size_t>(k)];
        for (Index i = 0; i < given; ++i) {
          const bool came = row + i < series.table.past && series.seen(one, row + i);
          target(b * p + k, i) = came ? series.values(one, row + i) : 0;
          target_observed.push_back(came ? 1 : 0);
        }
      }
    }
  }
};

/// The model's forecasts of a batch.
inline Matrix<float> forecasts(const Model& model, Batch& batch, gated::Workspace<float>& workspace) {
  Model::Options<gated::Batch<float>> options{.observed = batch.observed, .resolution = batch.resolution};
  if (batch.future.size() > 0) {
    options.future = gated::RunMatrix<float>(gated::input_view<float>(batch.future));
  }
  return model.forward(batch.x, batch.items, workspace, options);
}

/// The forecast that starts at `row`, in the table's units: one row per series, NaN for series that are not forecast.
inline Matrix<double> forecast_at(const Model& model, const Series& series, Index row, Index frequency,
                                  gated::Workspace<float>& workspace) {
  Batch batch;
  batch.fill(series, model, std::span(&row, 1), frequency);
  const Matrix<float> y = forecasts(model, batch, workspace);
  const std::vector<Index> chosen = forecast_series(model, series.table);
  Matrix<double> all = Matrix<double>::Constant(series.table.series(), y.cols(), std::nan(""));
  for (Index k = 0; k < y.rows(); ++k) {
    const Index one = chosen[static_cast<std::size_t>(k)];
    const auto m = static_cast<std::size_t>(one);
    all.row(one) = (y.row(k).cast<double>().array() * series.deviation[m] + series.mean[m]).matrix();
  }
  return all;
}

/// Errors: ShapeError if the model would forecast a series from gaps only.
inline void expect_recent_values(const Model& model, const Series& series) {
  for (const Index k : forecast_series(model, series.table)) {
    Index row = series.table.past - series.context;
    while (row < series.table.past && !series.seen(k, row)) {
      ++row;
    }
    gated::require<gated::ShapeError>(row < series.table.past, "the column \"", series.table.names[static_cast<std::size_t>(k)],
                                      "\" has no values in the last ", series.context,
                                      " rows, which the model sees. Leave out the column, or the rows after its last value.");
  }
}

/// The errors of forecasts of standardized series: mean squared error, mean absolute error, mean loss and the share of values
/// that are not above their forecast.
struct Errors {
  gated::RegressionLossConfig loss = {};
  double squares = 0, sizes = 0, losses = 0, below = 0, count = 0;

  void add(float forecast, float came) {
    const double error = static_cast<double>(forecast) - static_cast<double>(came);
    squares += error * error;
    sizes += std::abs(error);
    losses += loss.value(error);
    below += error >= 0 ? 1 : 0;
    count += 1;
  }
  double mse() const { return squares / std::max(count, 1.0); }
  double mae() const { return sizes / std::max(count, 1.0); }
  double mean_loss() const { return losses / std::max(count, 1.0); }
  double share_below() const { return below / std::max(count, 1.0); }
};

/// The errors of a model's forecasts for these windows.
inline Errors errors_of(const Model& model, const Series& series, std::span<const Index> windows, Index frequency,
                        gated::Workspace<float>& workspace, const gated::RegressionLossConfig& loss = {}) {
  Errors errors{loss};
  Batch batch;
  for (std::size_t first = 0; first < windows.size(); first += 256) {
    batch.fill(series, model, windows.subspan(first, std::min<std::size_t>(256, windows.size() - first)), frequency);
    const Matrix<float> y = forecasts(model, batch, workspace);
    for (Index i = 0; i < y.size(); ++i) {
      if (batch.target_observed[static_cast<std::size_t>(i)] != 0) {
        errors.add(y.data()[i], batch.target.data()[i]);
      }
    }
  }
  return errors;
}

/// The seasonal naive forecast of the series with index `one` for row `row + i`, standardized. It is the latest value observed
/// before row `row` in the same phase of the season as row `row + i`, if there is one.
inline std::optional<float> season_before(Index season, const Series& series, Index one, Index row, Index i) {
  Index before = row + i - season * (i / season + 1);
  while (before >= 0 && !series.seen(one, before)) {
    before -= season;
  }
  return before >= 0 ? std::optional(series.values(one, before)) : std::nullopt;
}

/// The errors of the seasonal naive forecast, where there is one.
inline Errors errors_of_season(Index season, const Model& model, const Series& series, std::span<const Index> windows) {
  Errors errors;
  for (const Index row : windows) {
    for (const Index k : forecast_series(model, series.table)) {
      for (Index i = 0; i < series.horizon; ++i) {
        const std::optional<float> naive = season_before(season, series, k, row, i);
        if (naive && series.seen(k, row + i)) {
          errors.add(*naive, series.values(k, row + i));
        }
      }
    }
  }
  return errors;
}

}  // namespace forecast
