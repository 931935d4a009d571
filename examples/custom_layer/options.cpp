#include "options.hpp"

#include "common/command_line.hpp"

namespace smoothing {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app("Trains a gMLP that mixes tokens by a moving average, saves it, reloads it and streams it.", "custom_layer");
  examples::add_name(app, "--out", options.out, "FILE", "where to save the model")->capture_default_str();
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace smoothing
