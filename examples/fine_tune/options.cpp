#include "options.hpp"

#include "common/command_line.hpp"

namespace tune {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "Gives a classifier a new head for the classes of a folder of pictures, which has a folder for each class,\n"
      "and trains it.",
      "fine_tune");
  examples::add_name(app, "model", options.model, "FILE.safetensors", "the classifier");
  examples::add_name(app, "pictures", options.pictures, "FOLDER", "what it is to learn");
  CLI::Option* const out = examples::add_name(app, "out", options.out, "FILE.safetensors", "where the new classifier goes");
  examples::add_number(app, "--epochs", options.epochs, gated::Index{1}, gated::Index{100000},
                       "how often each picture is seen");
  examples::add_number(app, "--rate", options.rate, 1e-9, 1.0, "the learning rate of the head");
  app.add_flag("--whole", options.whole, "train the trunk too, at a tenth of the rate; it is frozen\notherwise");
  examples::add_threads(app, options.threads);
  CLI::Option* const example = examples::add_name(app, "--example", options.example, "FOLDER",
                                                  "write a folder of 48 small pictures to try it with, and do\nnothing else");
  examples::parse(app, count, arguments);
  gated::require<examples::UsageError>(out->empty() != example->empty() && app.count("model") + app.count("--example") == 1,
                                       "expected a model, a folder of pictures and an output, or --example.");
  return options;
}

}  // namespace tune
