#include "options.hpp"

#include "common/command_line.hpp"

namespace forecast {

namespace {

/// Adds all options. The argument of --loss goes to `loss`.
void add_options(CLI::App& app, Options& options, std::string& loss) {
  using gated::Index;
  constexpr Index most = 1'000'000;
  examples::add_name(app, "data", options.data, "FILE.csv",
                     "a header, a column of times, and columns of numbers; empty\nfields are gaps (the births shipped "
                     "with the example)");
  examples::add_name(app, "--model", options.model, "PATH",
                     "a file from --train, or a published folder with config.json\n(the model shipped with the example)");
  app.add_flag("--train", options.train, "train a new model on the first 70 % of the rows");
  app.add_flag("--fine-tune", options.fine_tune, "train the model's decoder and head, with the backbone frozen");
  examples::add_name(app, "--out", options.out, "FOLDER", "where to write forecast.csv, forecast.svg and the model (.)");
  examples::add_number(app, "--season", options.seasons, Index{1}, most,
                       "length of a season in rows, for naive forecasts; repeatable");
  examples::add_number(app, "--frequency", options.frequency, Index{0}, Index{9},
                       "the frequency token, for models that use one: 1 = minutely,\n7 = hourly, 0 = other (0)");
  examples::add_number(app, "--context", options.context, Index{2}, most, "with --train, number of rows that the model sees");
  examples::add_number(app, "--horizon", options.horizon, Index{1}, most, "with --train, number of rows to forecast");
  examples::add_number(app, "--patch", options.patch, Index{1}, most, "with --train, number of rows per patch");
  examples::add_number(app, "--epochs", options.epochs, Index{1}, most, "passes over the training windows");
  examples::add_number(app, "--batch", options.batch, Index{1}, most, "windows per step");
  examples::add_number(app, "--rate", options.rate, 1e-9, 1.0, "the peak learning rate");
  examples::add_number(app, "--share", options.share, 1e-6, 1.0, "share of the training windows to use, from the start");
  examples::add_name(app, "--known", options.known, "COLUMN",
                     "a column whose future is known: its values continue after the\n"
                     "other columns end; repeatable, in the model's order");
  examples::add_name(app, "--band", options.band, "PATH",
                     "a model trained with --loss quantile; give the option\ntwice, for the lower and upper edge of a band");
  app.add_option("--loss", loss, "the training loss (the one recorded in --model, or squared)")
      ->check(CLI::IsMember({"squared", "absolute", "huber", "quantile"}));
  examples::add_number(app, "--quantile", options.quantile, 1e-6, 1 - 1e-6, "for --loss quantile (0.5)");
  examples::add_number(app, "--delta", options.delta, 1e-9, 1e9, "for --loss huber (1)");
  examples::add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "the seed for all random choices");
  examples::add_threads(app, options.threads);
}

/// Errors: UsageError for conflicting options.
void expect_consistent(const CLI::App& app, const Options& options) {
  gated::require<examples::UsageError>(!options.train || (!options.fine_tune && options.model.empty()),
                                       "--train starts a new model. Leave out --fine-tune and --model.");
  gated::require<examples::UsageError>(options.band.empty() || options.band.size() == 2, "--band: expected two models, got ",
                                       options.band.size(), ". Give it twice, for a lower and a higher quantile.");
  const auto given = [&app](const char* name) { return !app.get_option(name)->empty(); };
  for (const char* const name : {"--loss", "--quantile", "--delta", "--epochs", "--batch", "--rate", "--share"}) {
    gated::require<examples::UsageError>(options.train || options.fine_tune || !given(name), name,
                                         " is for training. Add --train or --fine-tune.");
  }
  for (const char* const name : {"--context", "--horizon", "--patch"}) {
    gated::require<examples::UsageError>(options.train || !given(name), name,
                                         " is an option of --train; an existing model keeps its own value.");
  }
}

}  // namespace

Options parse_options(int count, char** arguments) {
  Options options;
  std::string loss;
  CLI::App app(
      "Forecasts time series with a TinyTimeMixer, measures its error on the last 20 % of the rows, and plots the last\n"
      "forecast whose outcome is known. Ctrl-C stops training after the current epoch.",
      "forecast");
  add_options(app, options, loss);
  examples::parse(app, count, arguments);
  expect_consistent(app, options);
  options.loss = gated::value_named<gated::RegressionForm>(loss);
  return options;
}

}  // namespace forecast
