#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace small {

/// The command line.
struct Options {
  std::filesystem::path model;
  std::vector<std::filesystem::path> texts;  ///< for a byte-level language model
  std::filesystem::path images;              ///< for an image classifier
  std::filesystem::path mnist;               ///< a folder, for an image classifier of MNIST
  std::filesystem::path series;              ///< for a forecaster
  float max_pixel = 16;
  bool tensors = false;
  std::string format;  ///< of `out`
  std::filesystem::path out;
  int threads = 1;
};

/// Parses the command line.
/// Errors: those of examples::parse().
Options parse_options(int count, char** arguments);

}  // namespace small
