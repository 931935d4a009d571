// forecast: forecasts time series with a TinyTimeMixer, measures the forecasts, and trains models. See README.md.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "band.hpp"
#include "common/interrupt.hpp"
#include "common/output_file.hpp"
#include "common/run_main.hpp"
#include "plot.hpp"
#include "trainer.hpp"

namespace {

using namespace forecast;

/// The data, and the models that forecast it.
struct Inputs {
  Table table;
  Model model;
  gated::RegressionLossConfig loss;
  std::string quantile;  ///< appended to names of forecasts, such as " 0.9"; empty unless the loss is quantile
  std::vector<Edge> band;
  Index frequency;
};

/// The contents of forecast.csv, transposed: one row per series, followed by two rows for its band if there is one.
struct Forecasts {
  std::vector<std::string> names;
  std::vector<Index> rows;  ///< the row of each series in `values`
  Matrix<double> values;
};

/// The forecasts that start at `row`.
Forecasts forecasts_at(const Inputs& inputs, const Series& series, Index row, gated::Workspace<float>& workspace) {
  const auto& [table, model, loss, quantile, band, frequency] = inputs;
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
    const std::string& name = table.names[static_cast<std::size_t>(m)];
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

/// Opens the data and the models from the options, or starts a new model.
/// Errors: ArgumentError if the data and the models do not match; those of read_table(), arrange() and load_band().
Inputs open_inputs(const Options& options) {
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
  std::vector<Edge> band = load_band(options.band, model);
  return {.table = std::move(table),
          .model = std::move(model),
          .loss = loss,
          .quantile = loss.form == gated::RegressionForm::quantile ? gated::text(" ", loss.quantile) : "",
          .band = std::move(band),
          .frequency = options.frequency.value_or(0)};
}

/// Prints the sizes of the data and the model.
void print_sizes(const Table& table, const Model& model) {
  std::printf("  series        %td of %td rows, %s to %s%s\n%s", table.series(), table.past, table.times.front().c_str(),
              table.times[static_cast<std::size_t>(std::max<Index>(table.past, 1) - 1)].c_str(),
              table.axis.known() ? (", " + table.axis.step() + " apart").c_str() : "", notes(table).c_str());
  std::printf("  model         %td parameters, sees %td rows and forecasts %td\n\n", gated::parameter_count(model),
              model.config.context, model.out());
}

/// Trains the model and saves it.
void train(Inputs& inputs, const Series& series, const Options& options) {
  const std::filesystem::path path = options.out / "model.safetensors";
  examples::stop_when_asked();
  inputs.model = trained(std::move(inputs.model), series, inputs.loss, options);
  save(inputs.model, inputs.loss, path);
  examples::stop_at_once();
  std::printf("\n");
  if (examples::stop_signal != 0) {
    std::printf("  stopped; the best model so far is %s\n\n", path.string().c_str());
  }
}

/// Prints the errors of the naive forecasts and of the model on the test rows.
void print_errors(const Inputs& inputs, const Series& series, const std::vector<Index>& seasons,
                  gated::Workspace<float>& workspace) {
  const auto& [table, model, loss, quantile, band, frequency] = inputs;
  const auto tests = series.windows(series.test_row, table.past);
  std::printf("  %zu forecasts of the last 20 %% of the rows; errors in standard deviations of the first 70 %%:\n\n",
              tests.size());
  const auto print = [](const std::string& name, const Errors& errors) {
    errors.count > 0 ? std::printf("  %-34s MSE %.4f   MAE %.4f\n", name.c_str(), errors.mse(), errors.mae())
                     : std::printf("  %-34s no values to compare\n", name.c_str());
  };
  for (const Index season : seasons) {
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
}

/// Compares the forecast of series `one` from row `held` on with the actual values.
Comparison comparison_of(const Inputs& inputs, const Forecasts& forecasts, Index held, Index one) {
  const Table& table = inputs.table;
  const auto line = [&](Index row) {
    const auto values = forecasts.values.row(row);
    return Line{held, {values.begin(), values.end()}};
  };
  const Index row = forecasts.rows[static_cast<std::size_t>(one)];
  Comparison comparison{.name = table.names[static_cast<std::size_t>(one)],
                        .label = inputs.quantile.empty() ? "forecast" : "quantile" + inputs.quantile,
                        .history = part_of(table, one, std::max<Index>(0, held - 2 * inputs.model.out()), held),
                        .came = part_of(table, one, held - 1, table.past),
                        .forecast = line(row)};
  if (!inputs.band.empty()) {
    comparison.band = gated::text(inputs.band[0].quantile, " to ", inputs.band[1].quantile);
    comparison.low = line(row + 1);
    comparison.high = line(row + 2);
  }
  return comparison;
}

/// Writes forecast.csv and forecast.svg.
void write_forecasts(const Inputs& inputs, const Series& series, const std::filesystem::path& folder,
                     gated::Workspace<float>& workspace) {
  const Table& table = inputs.table;
  const Index horizon = inputs.model.out();
  const Forecasts next = forecasts_at(inputs, series, table.past, workspace);
  write_forecast(folder / "forecast.csv", table, next.names, next.values);
  const Index held = table.past - horizon;  // the first row of the last forecast whose outcome is known
  const Forecasts last = forecasts_at(inputs, series, held, workspace);
  constexpr std::size_t most_panels = 12;
  const std::vector<Index> chosen = forecast_series(inputs.model, table);
  std::vector<Comparison> comparisons;
  for (const Index one : std::span(chosen).first(std::min(chosen.size(), most_panels))) {
    comparisons.push_back(comparison_of(inputs, last, held, one));
  }
  examples::write_svg(folder / "forecast.svg", figure_of(comparisons, table.axis, table.time_name));
  const auto times = times_after(table, horizon);
  std::printf(
      "\n  forecast.csv  %s to %s\n"
      "  forecast.svg  a forecast of the last %td rows from earlier rows, and the actual values\n",
      times.front().c_str(), times.back().c_str(), horizon);
  if (chosen.size() > most_panels) {
    std::printf("                (the first %zu of %zu series)\n", most_panels, chosen.size());
  }
}

int run(const Options& options) {
  examples::expect_no_input(options.out / "forecast.csv", {options.data});
  if (options.train || options.fine_tune) {
    examples::expect_no_input(options.out / "model.safetensors", {options.model, options.model / "model.safetensors"});
  }
  Inputs inputs = open_inputs(options);
  const Series series(inputs.table, inputs.model.config.context, inputs.model.out());
  gated::require<gated::ArgumentError>(!options.frequency || inputs.model.config.resolutions > 0,
                                       "--frequency: this model takes no frequency token. Leave the option out.");
  expect_recent_values(inputs.model, series);
  std::filesystem::create_directories(options.out);
  print_sizes(inputs.table, inputs.model);
  if (options.train || options.fine_tune) {
    train(inputs, series, options);
  }
  gated::Workspace<float> workspace(gated::Threads{options.threads});
  print_errors(inputs, series, options.seasons, workspace);
  write_forecasts(inputs, series, options.out, workspace);
  return examples::stop_signal != 0 ? examples::exit_code_of_stop() : 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "forecast", [&] { return forecast::parse_options(count, arguments); }, run);
}
