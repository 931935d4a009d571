// forecast: forecasts time series with a TinyTimeMixer, measures the forecasts, and trains models. See README.md.

#include <cmath>
#include <cstdio>
#include <numeric>

#include "band.hpp"
#include "common/run_main.hpp"
#include "plot.hpp"
#include "trainer.hpp"

namespace {

using namespace forecast;

/// The contents of forecast.csv, transposed: one row per series, followed by two rows for its band if there is one.
struct Forecasts {
  std::vector<std::string> names;
  std::vector<Index> rows;  ///< the row of each series in `values`
  Matrix<double> values;
};

/// The forecasts that start at `row`. Names of forecast series end in the quantile of `model`, such as " 0.9"; empty for none.
Forecasts forecasts_at(const Model& model, const std::string& quantile, const std::vector<Edge>& band, const Series& series,
                       Index row, Index frequency, gated::Workspace<float>& workspace) {
  const Matrix<double> middle = forecast_at(model, series, row, frequency, workspace);
  std::vector<Matrix<double>> edges;
  for (const Edge& edge : band) {
    edges.push_back(forecast_at(edge.model, series, row, frequency, workspace));
  }
  if (!edges.empty()) {
    uncross(edges[0], edges[1]);
  }
  Forecasts all{{}, {}, Matrix<double>(middle.rows() * static_cast<Index>(1 + band.size()), middle.cols())};
  const auto add = [&](const std::string& name, const auto& values) {
    all.values.row(static_cast<Index>(all.names.size())) = values;
    all.names.push_back(name);
  };
  for (Index m = 0; m < middle.rows(); ++m) {
    const std::string& name = series.table.names[static_cast<std::size_t>(m)];
    all.rows.push_back(static_cast<Index>(all.names.size()));
    const bool is_forecast = !std::isnan(middle(m, 0));
    add(is_forecast ? name + quantile : name, middle.row(m));
    for (std::size_t i = 0; i < edges.size() && is_forecast; ++i) {
      add(gated::text(name, " ", band[i].quantile), edges[i].row(m));
    }
  }
  all.values.conservativeResize(static_cast<Index>(all.names.size()), Eigen::NoChange);
  return all;
}

/// The values of a series at times [first, last), NaN in gaps.
Line part_of(const Table& table, Index series, Index first, Index last) {
  Line line{first, {}};
  for (Index i = first; i < last; ++i) {
    const bool seen = table.observed[static_cast<std::size_t>(series * table.length() + i)] != 0;
    line.values.push_back(seen ? table.values(series, i) : std::nan(""));
  }
  return line;
}

int run(const Options& options) {
  examples::stop_when_asked();
  const bool own = options.data.empty();
  Table table = read_table(own ? std::filesystem::path(FORECAST_FOLDER "us_births_daily.csv") : options.data);
  gated::Random random(options.seed);
  const std::vector<Index> known = columns_named(table, options.known);
  Model model = options.train           ? Model(new_model(options, table.series(), known), random)
                : options.model.empty() ? load(FORECAST_FOLDER "births_ttm.safetensors")
                                        : load(options.model);
  const std::vector<Index>& places = model.config.known;
  gated::require<gated::ArgumentError>(known.size() == places.size(), "--known names ", known.size(),
                                       " columns, but the model needs the future of ", places.size(), " series.");
  gated::require<gated::ArgumentError>(!model.config.fixes_series() || table.series() == model.config.series, "the data has ",
                                       table.series(), " series, but the model was built for ", model.config.series, ".");
  arrange(table, known, places);
  const gated::RegressionLossConfig loss = loss_of(options);
  const std::string quantile = loss.form == gated::RegressionForm::quantile ? gated::text(" ", loss.quantile) : "";
  const std::vector<Edge> band = load_band(options.band, model);
  const Series series(table, model.config.context, model.out());
  gated::require<gated::ArgumentError>(!options.frequency || model.config.resolutions > 0,
                                       "--frequency: this model takes no frequency token. Leave the option out.");
  expect_recent_values(model, series);
  std::filesystem::create_directories(options.out);
  std::printf("  series        %td of %td rows, %s to %s%s\n%s", table.series(), table.past, table.times.front().c_str(),
              table.times[static_cast<std::size_t>(std::max<Index>(table.past, 1) - 1)].c_str(),
              table.axis.known() ? (", " + table.axis.step() + " apart").c_str() : "", notes(table).c_str());
  std::printf("  model         %td parameters, sees %td rows and forecasts %td\n\n", gated::parameter_count(model),
              model.config.context, model.out());
  if (options.train || options.fine_tune) {
    const auto enough =
        series.windows(0, series.training_rows).size() > 0 && series.windows(series.training_rows, series.test_row).size() > 0;
    gated::require<gated::ShapeError>(enough, "the series are too short for training: the first 70 % of ", table.past,
                                      " rows must hold a window of ", series.context, " + ", series.horizon,
                                      " rows, and the next 10 % must hold a forecast of ", series.horizon, " rows.");
    model = trained(std::move(model), series, options);
    save(model, loss, options.out / "model.safetensors");
    std::printf("\n");
    if (examples::stop_signal != 0) {
      std::printf("  stopped; the best model so far is %s\n\n", (options.out / "model.safetensors").string().c_str());
    }
  }

  gated::Workspace<float> workspace(gated::Threads{options.threads});
  const Index frequency = options.frequency.value_or(0);
  const auto tests = series.windows(series.test_row, table.past);
  std::printf("  %zu forecasts of the last 20 %% of the rows; errors in standard deviations of the first 70 %%:\n\n",
              tests.size());
  const auto print = [](const std::string& name, const Errors& errors) {
    errors.count > 0 ? std::printf("  %-34s MSE %.4f   MAE %.4f\n", name.c_str(), errors.mse(), errors.mae())
                     : std::printf("  %-34s no values to compare\n", name.c_str());
  };
  for (const Index season : options.seasons) {
    print(gated::text("naive: as ", season, " rows before"), errors_of_season(season, model, series, tests));
  }
  const Errors errors = errors_of(model, series, tests, frequency, workspace);
  print(quantile.empty() ? "TinyTimeMixer" : "TinyTimeMixer, quantile" + quantile, errors);

  if (!quantile.empty() && errors.count > 0) {
    std::printf("  below quantile%-20s %.1f %% of the values\n", quantile.c_str(), 100 * errors.share_below());
  }
  if (!band.empty() && errors.count > 0) {
    std::printf("  between quantiles %g and %g        %.1f %% of the values\n", band[0].quantile, band[1].quantile,
                100 * coverage(band, series, tests, frequency, workspace));
  }

  const Forecasts next = forecasts_at(model, quantile, band, series, table.past, frequency, workspace);
  write_forecast(options.out / "forecast.csv", table, next.names, next.values);
  const Index held = table.past - model.out();  // the first row of the last forecast whose outcome is known
  const Forecasts last = forecasts_at(model, quantile, band, series, held, frequency, workspace);
  constexpr std::size_t most_panels = 12;
  std::vector<Index> drawn = forecast_series(model, table);
  const std::size_t count = drawn.size();
  drawn.resize(std::min(count, most_panels));
  std::vector<Comparison> comparisons;
  for (const Index one : drawn) {
    const auto line = [&](Index row) {
      const auto values = last.values.row(row);
      return Line{held, {values.begin(), values.end()}};
    };
    const Index row = last.rows[static_cast<std::size_t>(one)];
    Comparison comparison{.name = table.names[static_cast<std::size_t>(one)],
                          .label = quantile.empty() ? "forecast" : "quantile" + quantile,
                          .history = part_of(table, one, std::max<Index>(0, held - 2 * model.out()), held),
                          .came = part_of(table, one, held - 1, table.past),
                          .forecast = line(row)};
    if (!band.empty()) {
      comparison.band = gated::text(band[0].quantile, " to ", band[1].quantile);
      comparison.low = line(row + 1);
      comparison.high = line(row + 2);
    }
    comparisons.push_back(comparison);
  }
  examples::write_svg(options.out / "forecast.svg", figure_of(comparisons, table.axis, table.time_name));
  const auto times = times_after(table, model.out());
  std::printf(
      "\n  forecast.csv  %s to %s\n"
      "  forecast.svg  a forecast of the last %td rows from earlier rows, and the actual values\n",
      times.front().c_str(), times.back().c_str(), model.out());
  if (count > most_panels) {
    std::printf("                (the first %zu of %zu series)\n", most_panels, count);
  }
  return examples::stop_signal != 0 ? examples::exit_code_of_stop() : 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "forecast", [&] { return forecast::parse_options(count, arguments); }, run);
}
