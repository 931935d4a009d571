#pragma once

#include <string>

namespace smoothing {

/// The command line.
struct Options {
  std::string out = "ema_mlp.safetensors";
};

/// Reads the command line. Errors: examples::UsageError for an unknown option or a missing value.
Options parse_options(int count, char** arguments);

}  // namespace smoothing
