#pragma once

#include <filesystem>

#include "gated/core/matrix.hpp"

namespace tune {

/// The command line.
struct Options {
  std::filesystem::path model, pictures, out;
  std::filesystem::path example;  ///< a folder to fill with pictures, and nothing else
  gated::Index epochs = 20;
  double rate = 0.005;
  int threads = 1;
  bool whole = false;
};

/// Reads the command line. Errors: examples::UsageError for an unknown option, for a value that is missing or makes no sense,
/// and unless there are either a model, a folder and an output, or --example.
Options parse_options(int count, char** arguments);

}  // namespace tune
