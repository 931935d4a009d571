// gated_signature: prints model signatures, which are the same on every machine, and compares them with those in the files.
// See README.md.

#include <cstdio>
#include <string>
#include <vector>

#include "common/run_main.hpp"
#include "gated/io/known_models.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/signature.hpp"

namespace {

using gated::SafetensorsFile;

/// Prints the signatures of `model`, and compares them with those in its file, if any.
template <class Model>
void print_signatures(const Model& model, const SafetensorsFile& file) {
  const auto signatures = gated::signatures(model);
  for (const char* name : {"signature", "signature_int8"}) {
    std::printf("%-14s  %s  %s\n", name, signatures.at(name).c_str(), file.name().c_str());
  }
  if (file.metadata().contains("signature") || file.metadata().contains("signature_int8")) {
    gated::expect_signature(model, file);
    std::puts("equal to the signatures in the file");
  }
}

/// If `file` holds a Model, prints and compares its signatures, and returns true.
template <class Model>
bool sign(const SafetensorsFile& file) {
  if (!gated::is_architecture_of<Model>(gated::architecture_of(file))) {
    return false;
  }
  if constexpr (std::same_as<Model, gated::SpeechSeparator<float>>) {
    gated::raise<gated::FileError>(file.name(),
                                   ": a SpeechSeparator reads waves of any length, but a signature needs a fixed length.");
  } else if constexpr (std::same_as<Model, gated::GatedCrossAttention<float>>) {
    gated::raise<gated::FileError>(file.name(), ": a GatedCrossAttention reads two inputs, but a signature needs one input.");
  } else {
    print_signatures(gated::load_model<Model>(file), file);
    return true;
  }
}

constexpr const char* usage =
    R"(Prints model signatures, which are the same on every machine, and compares them with those in the files.

Usage: gated_signature FILE.safetensors ...

Options:
  -h,--help                       show this text
)";

using Files = std::vector<std::string>;

/// Parses the command line. Does not use CLI11, so the program builds wherever gated does.
Files parse_options(int count, char** arguments) {
  const Files files(arguments + 1, arguments + count);
  for (const std::string& file : files) {
    if (file == "--help" || file == "-h") {
      throw examples::Help{usage};
    }
    if (file.empty() || file.front() == '-') {
      throw examples::UsageError("expected files, got \"" + file + "\".");
    }
  }
  if (files.empty()) {
    throw examples::UsageError("expected at least one file.");
  }
  return files;
}

int run(const Files& files) {
  for (const std::string& path : files) {
    const SafetensorsFile file(path);
    const bool known = gated::any_known_model([&]<class Model>(const char*) { return sign<Model>(file); });
    gated::require<gated::FileError>(known, file.name(),
                                     ": holds no model that this program knows. Run gated_inspect to see what it holds; "
                                     "gated/io/signature.hpp can sign any model.");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "gated_signature", [&] { return parse_options(count, arguments); }, run);
}
