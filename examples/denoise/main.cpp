// denoise: removes the noise from recordings of speech. See README.md.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>

#include "common/interrupt.hpp"
#include "common/output_file.hpp"
#include "common/progress.hpp"
#include "common/run_main.hpp"
#include "denoisers.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "train.hpp"

namespace {

using gated::Index, gated::Matrix;

/// Denoises a file and shows a progress bar. After Ctrl-C, the output file contains the part denoised so far.
void clean(const denoise::Options& options) {
  const examples::Recording recording(options.in, denoise::rate_of(options.model));
  examples::expect_place_for(options.out);
  examples::expect_no_input(options.out, {options.in, options.model});
  if (!options.picture.empty()) {
    examples::expect_place_for(options.picture);
    examples::expect_no_input(options.picture, {options.in, options.model});
  }
  gated::detail::wav_data_bytes(options.out.string(), recording.frames(), recording.channels(), gated::WavFormat::pcm16);
  std::optional<gated::WavWriter> out;  // from the first part on: an error before it leaves an older file alone
  examples::ProgressLine progress;
  const auto begin = std::chrono::steady_clock::now();
  const auto line = [&](double done) {
    const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    char text[128];
    std::snprintf(text, sizeof text, "%.1f s of %.1f s, %.1f × real time", done, recording.seconds(), done / taken);
    return gated::text("  ", examples::progress_bar(done / recording.seconds(), 30), " ", text);
  };
  const auto seconds = [&] { return static_cast<double>(out->frames()) / static_cast<double>(recording.rate()); };
  denoise::denoise(options.model, recording, options.threads, [&](gated::ConstView<float> next) {
    if (!out) {
      out.emplace(options.out, recording.channels(), recording.rate());
    }
    out->write(next);
    progress.show(line(seconds()));
    return examples::stop_signal == 0;
  });
  progress.keep(line(seconds()));
  if (recording.rate() != recording.rate_of_file()) {
    progress.keep(
        gated::text("  ", options.out.string(), " has the model's sampling rate, ", recording.rate(), " samples a second."));
  }
  if (!options.picture.empty()) {
    denoise::draw(options.picture, recording, examples::Recording(options.out, recording.rate()));
  }
}

int run(denoise::Options options) {
  examples::stop_when_asked();
#if defined(SIGPIPE)
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes a write error
#endif
  options.model = options.model.empty() ? DENOISE_FOLDER "denoise.safetensors" : options.model;
  if (!options.train.empty()) {
    denoise::train(options);
    options.model = options.in;
  } else if (options.stream) {
    denoise::denoise_stream(options.model);
  } else if (!options.in.empty()) {
    clean(options);
  }
  if (!options.test.empty() && examples::stop_signal == 0) {
    examples::stop_at_once();
    denoise::measure(options.model, options.test, options.compare, gated::Threads(options.threads));
  }
  return examples::stop_signal != 0 ? examples::exit_code_of_stop() : 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "denoise", [&] { return denoise::parse_options(count, arguments); }, run);
}
