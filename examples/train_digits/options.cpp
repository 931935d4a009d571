#include "options.hpp"

#include "common/command_line.hpp"
#include "mixers.hpp"

namespace digits {

std::string Options::recipe_arguments() const {
  const auto given = [](const char* name, const auto& value) { return value ? gated::text(name, *value) : std::string(); };
  return given(" --learning-rate ", learning_rate) + given(" --weight-decay ", weight_decay) + given(" --patch ", patch) +
         (data.empty() ? "" : " --data " + data.string()) + (size ? gated::text(" --size ", *size) : "") +
         (max_pixel ? gated::text(" --max-pixel ", *max_pixel) : "") + (mnist.empty() ? "" : " --mnist " + mnist.string()) +
         (validate ? " --validate" : "");
}

namespace {

/// Adds the options that choose the data.
void add_data(CLI::App& app, Options& options) {
  CLI::Option* const data = examples::add_name(app, "--data", options.data, "FOLDER|FILE.csv",
                                               "train on your own images: a folder with a subfolder of PNG or\n"
                                               "JPEG pictures per class, or a CSV with one image per line, its\n"
                                               "pixels, then its class, counted from 0");
  examples::add_number(app, "--size", options.size, gated::Index{4}, gated::Index{512},
                       "resize a folder's pictures to this side in pixels (28)")
      ->needs(data);
  examples::add_number(app, "--max-pixel", options.max_pixel, 1e-6F, 1e6F,
                       "the value of a white pixel in the CSV (default: the largest)")
      ->needs(data);
  auto* const mnist = examples::add_name(app, "--mnist", options.mnist, "FOLDER",
                                         "train on MNIST, from its four files in this folder (see\nfetch_mnist.sh)")
                          ->excludes(data);
  app.add_flag("--validate", options.validate, "hold out the last 5000 training images of MNIST instead of\nthe test images")
      ->needs(mnist);
}

}  // namespace

Options parse_options(int count, char** arguments) {
  constexpr gated::Index most_epochs = 1'000'000;
  Options options;
  CLI::App app(
      "Trains a gMLP on scanned digits from scratch, or a model with another token mixer. Ctrl-C stops after the\n"
      "current epoch and saves the training run.",
      "train_digits");
  std::string mixers = "the token mixer:";
  std::vector<std::string> names;
  for (const Mixer& mixer : all_mixers()) {
    mixers += "\n" + std::string(mixer.name) + ": " + mixer.what;
    names.emplace_back(mixer.name);
  }
  app.add_option("--mixer", options.mixer, mixers)->check(CLI::IsMember(names))->type_name("NAME")->capture_default_str();
  add_data(app, options);
  examples::add_name(app, "--out", options.out, "FOLDER", "where to write the model, training run and pictures (.)");
  examples::add_number(app, "--epochs", options.epochs, gated::Index{1}, most_epochs,
                       "epochs (80; MNIST: 40; other data: 40, or more if needed for\n"
                       "3000 steps; with --resume: as in the file)");
  examples::add_number(app, "--learning-rate", options.learning_rate, 1e-6, 1.0,
                       "peak learning rate (6e-3; MNIST and other data: 4e-3)");
  examples::add_number(app, "--weight-decay", options.weight_decay, 0.0, 100.0, "weight decay (1; MNIST and other data: 0.3)");
  examples::add_number(app, "--patch", options.patch, gated::Index{1}, gated::Index{512},
                       "side of a patch in pixels, a divisor of the images' side (1;\nMNIST: 2)");
  examples::add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "for all random choices");
  examples::add_threads(app, options.threads, "threads to use; results are bit-equal for any number");
  app.add_flag("--bf16", options.bf16, "faster bf16 matmuls (needs AVX512-BF16); results differ slightly");
  examples::add_name(app, "--metrics", options.metrics, "FILE.csv",
                     "write step, loss, gradient norm and learning rate of each step");
  examples::add_name(app, "--resume", options.resume, "FILE",
                     "continue a stopped training run or, with more --epochs, a\nfinished one");
  examples::add_number(app, "--stop-after", options.stop_after, gated::Index{1}, most_epochs,
                       "stop after this epoch, as Ctrl-C does")
      ->default_str("");
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace digits
