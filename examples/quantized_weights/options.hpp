#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace small {

/// The command line.
struct Options {
  std::filesystem::path model;
  std::vector<std::filesystem::path> texts;  ///< for a language model over bytes
  std::filesystem::path images;              ///< for an image classifier
  float max_pixel = 16;
  bool tensors = false;
  std::string format;  ///< of `out`
  std::filesystem::path out;
  int threads = 1;
};

/// Reads the command line. Errors: examples::UsageError.
Options parse_options(int count, char** arguments);

}  // namespace small
