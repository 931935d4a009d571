#include "options.hpp"

#include "common/command_line.hpp"

namespace inspect {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app("Shows what is in a checkpoint, who wrote it, its shapes, and the C++ that opens it.", "gated_inspect");
  examples::add_name(app, "file", options.file, "FILE.safetensors", "the checkpoint")->required();
  examples::parse(app, count, arguments);
  return options;
}

SignatureOptions parse_signature_options(int count, char** arguments) {
  SignatureOptions options;
  CLI::App app(
      "Prints the signatures of models, which are the same on every machine, and compares them with those that their files "
      "record.",
      "gated_signature");
  examples::add_name(app, "files", options.files, "FILE.safetensors", "models that save_model() or convert.py wrote")
      ->required();
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace inspect
