#include "options.hpp"

#include "common/command_line.hpp"

namespace photos {

using examples::UsageError, gated::require;

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "Says what is on photographs (JPEG or PNG of any size) with one of timm's gMLP, MLP-Mixer,\n"
      "gMixer or ResMLP models.",
      "classify_image");
  examples::add_name(app, "pictures", options.pictures, "FILE", "one or more, with --model");
  CLI::Option* const model = examples::add_name(app, "--model", options.model, "FILE.safetensors",
                                                "the checkpoint, with timm's names or as save_model() wrote it");
  examples::add_timm_model(app, options.timm);
  examples::add_name(app, "--labels", options.labels, "FILE", "the names of the classes, one per line (the model's)");
  examples::add_number(app, "--top", options.top, gated::Index{1}, gated::Index{1000}, "how many classes to show");
  examples::add_number(app, "--crop", options.crop, 0.01, 1.0,
                       "model size / size that the shortest edge is resized to\n(the model's)");
  examples::add_threads(app, options.threads);
  app.add_flag("--random", options.random, "random weights and no pictures: only the speed means something")->excludes(model);
  examples::parse(app, count, arguments);

  require<UsageError>(options.random || !options.model.empty(), "--model is missing; --random does without one.");
  require<UsageError>(options.random == options.pictures.empty(),
                      options.random ? "--random takes no pictures: its answers would mean nothing." : "no picture is named.");
  return options;
}

}  // namespace photos
