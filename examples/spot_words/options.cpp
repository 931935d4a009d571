#include "options.hpp"

#include "common/command_line.hpp"

namespace words {

using examples::UsageError, gated::Index, gated::require;

namespace {

/// Raises UsageError for conflicting options.
void expect_consistent(const CLI::App& app, const Options& options) {
  const auto given = [&app](const char* name) { return !app.get_option(name)->empty(); };
  require<UsageError>(given("sound") || given("--train") || given("--test"),
                      "give a WAV file, - for stdin, --train or --test.");
  require<UsageError>(options.train.empty() || options.model.empty() || !given("--depth"),
                      "--depth is for a new model. Leave out --model.");
  for (const char* const name : {"--words", "--out", "--epochs", "--depth", "--learning-rate"}) {
    require<UsageError>(!options.train.empty() || !given(name), name, " is for training. Add --train.");
  }
}

}  // namespace

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "Spots words in speech with a KW-MLP, and trains such models. Prints a line per word: its time in seconds, the\n"
      "word, its score. Ctrl-C ends training after the current step and keeps the model so far.",
      "spot_words");
  CLI::Option* const sound = examples::add_name(app, "sound", options.sound, "FILE.wav|-",
                                                "a WAV file (8 to 96 kHz), or - for raw samples on stdin: signed\n"
                                                "16-bit, little-endian, mono, 16 kHz");
  examples::add_name(app, "--model", options.model, "FILE",
                     "a file from --train (default: the model shipped with the\n"
                     "example); with --train, the model to start from (default: a new\n"
                     "model)");
  app.add_flag("--scores", options.scores, "print the score of every class for every window, as CSV")->needs(sound);
  examples::add_number(app, "--threshold", options.threshold, 0.0, 1.0, "the lowest averaged score that is reported as a word")
      ->needs(sound);
  examples::add_name(app, "--train", options.train, "FOLDER",
                     "train a model on a folder with a subfolder of WAV files per\n"
                     "word, and a subfolder _unknown_ for other words (optional)")
      ->excludes(sound);
  examples::add_name(app, "--test", options.test, "FOLDER", "measure the model on a folder like that of --train")
      ->excludes(sound);
  app.add_option("--words", options.words,
                 "with --train, the subfolders of the words to spot, separated by\n"
                 "commas; other subfolders are unknown words (default: all\n"
                 "subfolders that do not begin with _)")
      ->delimiter(',')
      ->type_name("NAME,...");
  examples::add_name(app, "--out", options.out, "FILE", "with --train, where to write the model")->capture_default_str();
  examples::add_number(app, "--epochs", options.epochs, Index{1}, Index{100'000}, "with --train, passes over the recordings");
  examples::add_number(app, "--depth", options.depth, Index{1}, Index{64}, "with --train, number of blocks; the paper has 12");
  examples::add_number(app, "--learning-rate", options.learning_rate, 1e-9, 1.0, "with --train, the peak learning rate");
  examples::add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "the seed of all random choices");
  examples::add_threads(app, options.threads);
  examples::parse(app, count, arguments);
  expect_consistent(app, options);
  return options;
}

}  // namespace words
