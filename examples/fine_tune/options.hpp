#pragma once

#include <filesystem>

#include "gated/core/matrix.hpp"

namespace tune {

/// The command line.
struct Options {
  std::filesystem::path model, pictures, out;
  std::filesystem::path example;  ///< a folder to fill with pictures, instead of training
  gated::Index epochs = 20;
  double rate = 0.005;
  int threads = 1;
  bool whole = false;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError if the model, the folder or the output is missing, unless --example is given.
Options parse_options(int count, char** arguments);

}  // namespace tune
