#include "options.hpp"

#include "common/command_line.hpp"

namespace denoise {

using examples::UsageError, gated::Index, gated::require;

namespace {

/// Raises UsageError for options that exclude each other, or a file that is missing.
void expect_consistent(const CLI::App& app, const Options& options) {
  const auto given = [&app](const char* name) { return !app.get_option(name)->empty(); };
  const bool trains = !options.train.empty();
  for (const char* const name : {"--steps", "--batch", "--rate", "--channels", "--depth", "--seed"}) {
    require<UsageError>(trains || !given(name), name, " is for training. Add --train FOLDER.");
  }
  require<UsageError>(options.compare.empty() || !options.test.empty(), "--compare is for --test FOLDER.");
  require<UsageError>(!trains || options.model.empty(), "--train starts a new model. Leave out --model.");
  require<UsageError>(!trains || (!options.in.empty() && options.out.empty()),
                      "--train needs one file, the model to write: denoise --train FOLDER model.safetensors.");
  const bool file = !options.in.empty() && !trains, only_tests = !options.test.empty() && !trains;
  require<UsageError>(
      static_cast<int>(file) + static_cast<int>(options.stream) + static_cast<int>(trains) + static_cast<int>(only_tests) == 1,
      "expected IN.wav and OUT.wav, or --stream, or --train, or --test.");
  require<UsageError>(!file || !options.out.empty(), "OUT.wav is missing: denoise IN.wav OUT.wav.");
  require<UsageError>(options.picture.empty() || file, "--picture needs files. Give IN.wav and OUT.wav.");
}

}  // namespace

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "Removes the noise from a recording of speech.\n\n"
      "  denoise noisy.wav clean.wav          a file\n"
      "  arecord … | denoise --stream | aplay …   live: raw 16-bit samples at the model's rate\n\n"
      "Ctrl-C leaves a valid file of the part done so far; with --train, the model so far.",
      "denoise");
  examples::add_name(app, "in", options.in, "IN.wav", "the recording, mono or stereo, of any rate from 8 to 96 kHz");
  examples::add_name(app, "out", options.out, "OUT.wav", "the result, at the model's rate; with --train, the model");
  examples::add_name(app, "--model", options.model, "FILE",
                     "a model from --train, or MossFormer2_SE_48K from convert.py\n(default: the shipped model)");
  app.add_flag("--stream", options.stream,
               "read raw samples from stdin and write them to stdout, mono, 16 bits,\nlittle-endian");
  examples::add_name(app, "--picture", options.picture, "FILE.svg", "draw the spectrograms before and after");
  examples::add_name(app, "--train", options.train, "FOLDER",
                     "train a new model on the speech in a folder: WAV files, and raw\nfiles of 16 bits at 16 kHz");
  examples::add_name(app, "--test", options.test, "FOLDER",
                     "measure the model on the speech in a folder, in eight kinds of noise");
  app.add_option("--compare", options.compare,
                 "with --test, measure another denoiser too, called as\nCOMMAND IN.wav OUT.wav; both files are mono, at 48 kHz")
      ->type_name("COMMAND");
  examples::add_number(app, "--steps", options.steps, Index{1}, Index{10'000'000}, "with --train, the number of steps");
  examples::add_number(app, "--batch", options.batch, Index{1}, Index{4096}, "with --train, pieces of 3 seconds per step");
  examples::add_number(app, "--rate", options.rate, 1e-9, 1.0, "with --train, the peak learning rate");
  examples::add_number(app, "--channels", options.channels, Index{2}, Index{4096}, "with --train, the width of the model");
  examples::add_number(app, "--depth", options.depth, Index{1}, Index{100}, "with --train, the number of blocks");
  examples::add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "with --train, the seed for all random choices");
  examples::add_threads(app, options.threads);
  examples::parse(app, count, arguments);
  expect_consistent(app, options);
  return options;
}

}  // namespace denoise
