#include "options.hpp"

#include "common/command_line.hpp"

namespace speech {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app("Trains a convolutional gating MLP to smooth noise, which needs other tokens, saves it and reads it again.",
               "custom_layer");
  app.add_flag("--causal", options.causal,
               "smooth over the tokens before alone, and stream the model token\nby token at the end");
  examples::add_name(app, "--out", options.out, "FILE", "where to save the model")->capture_default_str();
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace speech
