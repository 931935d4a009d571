#include "options.hpp"

#include "common/command_line.hpp"

namespace photos {

using examples::UsageError, gated::require;

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "Classifies photographs (JPEG or PNG, any size) with one of timm's gMLP, MLP-Mixer, gMixer\n"
      "or ResMLP models.",
      "classify_image");
  examples::add_name(app, "pictures", options.pictures, "FILE", "one or more, required with --model");
  CLI::Option* const model = examples::add_name(app, "--model", options.model, "FILE.safetensors",
                                                "the checkpoint, with timm's names or from save_model()");
  examples::add_timm_model(app, options.timm);
  examples::add_name(app, "--labels", options.labels, "FILE", "class names, one per line (default: the model's)");
  examples::add_number(app, "--top", options.top, gated::Index{1}, gated::Index{1000}, "how many classes to show");
  examples::add_number(app, "--crop", options.crop, 0.01, 1.0, "input size / resized shorter edge (default: the model's)");
  examples::add_threads(app, options.threads);
  app.add_flag("--random", options.random, "random weights and no pictures, to measure the speed")->excludes(model);
  examples::parse(app, count, arguments);

  require<UsageError>(options.random || !options.model.empty(), "--model is missing. Name one, or use --random.");
  require<UsageError>(options.random == options.pictures.empty(), options.random ? "--random takes no pictures. Leave them out."
                                                                                 : "no picture is named. Name one or more.");
  return options;
}

}  // namespace photos
