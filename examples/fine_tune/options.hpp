#pragma once

#include <filesystem>

#include "gated/core/matrix.hpp"

namespace tune {

/// The command line.
struct Options {
  std::filesystem::path model, pictures, out;
  std::filesystem::path example;  ///< if given: write example pictures to this folder and do not train
  gated::Index epochs = 20;
  double rate = 0.005;
  int threads = 1;
  bool whole = false;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError unless there is either --example, or a model, pictures and an output.
Options parse_options(int count, char** arguments);

}  // namespace tune
