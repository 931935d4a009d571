#pragma once

#include <string>

namespace speech {

/// The command line.
struct Options {
  std::string out = "cgmlp.safetensors";
  bool causal = false;
};

/// Reads the command line. Errors: examples::UsageError for an unknown option or a missing value.
Options parse_options(int count, char** arguments);

}  // namespace speech
