#include "options.hpp"

#include <string_view>

namespace photos {

const char* const usage =
    "usage: classify_image PICTURE... --model FILE.safetensors [options]\n"
    "       classify_image --random [options]\n"
    "\n"
    "Says what is on photographs (JPEG or PNG of any size) with one of timm's gMLP, MLP-Mixer,\n"
    "gMixer or ResMLP models.\n"
    "\n"
    "  --model FILE.safetensors  the checkpoint, with timm's names or as save_model() wrote it\n"
    "  --config FILE.json        the config.json that timm publishes beside a checkpoint\n"
    "  --preset NAME             what a checkpoint without a configuration is, if there is no config.json: gmlp_s16_224\n"
    "                            (if not given), mixer_b16_224.miil_in21k_ft_in1k, resmlp_12_224 or another name of\n"
    "                            timm's; the number of classes is taken from the file\n"
    "  --labels FILE             the names of the classes, one a line (the model's)\n"
    "  --top N                   how many classes to show (5)\n"
    "  --crop SHARE              model size / size that the shortest edge is resized to (the model's)\n"
    "  --threads N               threads to use (1)\n"
    "  --random                  random weights and no pictures: only the speed means something\n"
    "  --help                    show this text\n";

Options parse_options(int count, char** arguments) {
  Options options;
  for (examples::CommandLine line(count, arguments); line.next();) {
    const std::string_view option = line.word();
    if (option == "--model") {
      options.model = line.value();
    } else if (option == "--config") {
      options.config = line.value();
    } else if (option == "--preset") {
      options.preset = line.value();
    } else if (option == "--labels") {
      options.labels = line.value();
    } else if (option == "--top") {
      options.top = line.number<gated::Index>(1, 1000);
    } else if (option == "--crop") {
      options.crop = line.number(0.01, 1.0);
    } else if (option == "--threads") {
      options.threads = line.number(1, examples::most_threads);
    } else if (option == "--random") {
      options.random = true;
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else if (option.starts_with("-")) {
      gated::raise<examples::UsageError>("unknown option ", option, ".");
    } else {
      options.pictures.emplace_back(option);
    }
  }
  if (options.help) {
    return options;
  }
  gated::require<examples::UsageError>(
      options.random == options.model.empty(),
      options.random ? "--random and --model exclude each other." : "--model is missing; --random does without one.");
  gated::require<examples::UsageError>(
      options.random == options.pictures.empty(),
      options.random ? "--random takes no pictures: its answers would mean nothing." : "no picture is named.");
  return options;
}

}  // namespace photos
