#include "options.hpp"

#include "common/command_line.hpp"

namespace inspect {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app("Shows a checkpoint's tensors, origin and configuration, and the C++ that opens it.", "gated_inspect");
  examples::add_name(app, "file", options.file, "FILE.safetensors", "the checkpoint")->required();
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace inspect
