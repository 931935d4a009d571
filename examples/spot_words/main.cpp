// spot_words: spots words in speech with a KW-MLP, and trains such models. See README.md.

#include <cstdio>

#include "common/interrupt.hpp"
#include "common/output_file.hpp"
#include "common/raw_samples.hpp"
#include "common/run_main.hpp"
#include "options.hpp"
#include "spotter.hpp"
#include "trainer.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <csignal>
#endif

namespace {

using namespace words;

/// Flushes the lines printed so far.
/// Errors: FileError if stdout is closed or the disk is full.
void show_lines() {
  gated::require<gated::FileError>(std::fflush(stdout) == 0, "stdout: cannot write; the pipe is closed, or the disk is full.");
}

void spot(const Keywords& keywords, const Options& options) {
  const auto print_scores = [&](double seconds, std::span<const double> scores) {
    std::printf("%.2f", seconds);
    for (const double score : scores) {
      std::printf(",%.4f", score);
    }
    std::printf("\n");
    show_lines();
  };
  const auto print_event = [&](const Event& event) {
    if (!options.scores) {
      std::printf("%8.2f s  %-12s %.2f\n", event.seconds, keywords.labels[static_cast<std::size_t>(event.label)].c_str(),
                  event.score);
      show_lines();
    }
  };
  Spotter spotter(keywords, options.threshold, options.scores ? Spotter::OnScores(print_scores) : Spotter::OnScores(),
                  print_event);
  if (options.scores) {
    std::printf("seconds");
    for (const std::string& label : keywords.labels) {
      std::printf(",%s", label.c_str());
    }
    std::printf("\n");
  }
  if (options.sound == "-") {
    examples::for_each_raw_block(
        Spotter::step, [&](std::span<const float> samples) { spotter.add(samples); }, [&] { spotter.finish(); });
  } else {
    for_each_piece(options.sound, [&spotter](std::span<const float> samples) { spotter.add(samples); });
    spotter.finish();
  }
}

int train(const Options& options) {
  examples::stop_when_asked();
  examples::expect_place_for(options.out);
  std::optional<Keywords> start;
  if (!options.model.empty()) {
    start = load(options.model);
  }
  const Recordings recordings = read_recordings(options.train, options.words.empty() ? words_in(options.train) : options.words);
  if (auto model = trained(recordings, std::move(start), options)) {
    save({std::move(*model), recordings.labels}, options.out);
    std::printf("\n  model     %s%s\n", options.out.string().c_str(),
                examples::stop_signal != 0 ? ", stopped before its last step" : "");
  }
  return examples::stop_signal != 0 ? examples::exit_code_of_stop() : 0;
}

int run(const Options& options) {
#if defined(__unix__) || defined(__APPLE__)
  std::signal(SIGPIPE, SIG_IGN);  // show_lines() reports a closed pipe
#endif
  if (!options.train.empty()) {
    if (const int code = train(options); code != 0 || options.test.empty()) {
      return code;
    }
    examples::stop_at_once();
  }
  const std::filesystem::path shipped = SPOT_WORDS_FOLDER "ten_words.safetensors";
  const Keywords keywords = load(!options.train.empty() ? options.out : options.model.empty() ? shipped : options.model);
  if (options.test.empty()) {
    spot(keywords, options);
  } else {
    const std::vector<std::string> words(keywords.labels.begin(), keywords.labels.end() - 2);
    measure(keywords, read_recordings(options.test, words), options);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "spot_words", [&] { return words::parse_options(count, arguments); }, run);
}
