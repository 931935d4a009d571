#include "options.hpp"

#include "common/command_line.hpp"

namespace tune {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "Fine-tunes a classifier on a folder of pictures with a subfolder for each class: trains a new head or,\n"
      "with --whole, the whole model.",
      "fine_tune");
  examples::add_name(app, "model", options.model, "FILE.safetensors", "a gMLP image classifier");
  examples::add_name(app, "pictures", options.pictures, "FOLDER", "one subfolder of pictures per class");
  CLI::Option* const out = examples::add_name(app, "out", options.out, "FILE.safetensors", "where to write the new classifier");
  examples::add_number(app, "--epochs", options.epochs, gated::Index{1}, gated::Index{100000}, "passes over the pictures");
  examples::add_number(app, "--rate", options.rate, 1e-9, 1.0, "the learning rate of the head");
  app.add_flag("--whole", options.whole, "also train the trunk, at a tenth of the rate; otherwise it\nis frozen");
  examples::add_threads(app, options.threads);
  CLI::Option* const example =
      examples::add_name(app, "--example", options.example, "FOLDER", "write a folder of 48 example pictures, and exit");
  examples::parse(app, count, arguments);
  gated::require<examples::UsageError>(out->empty() != example->empty() && app.count("model") + app.count("--example") == 1,
                                       "expected a model, a folder of pictures and an output, or --example.");
  return options;
}

}  // namespace tune
