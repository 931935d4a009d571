#pragma once

#include <filesystem>

namespace digits {

/// The command line.
struct Options {
  std::filesystem::path data = DIGITS_FOLDER "digits.csv";
  std::filesystem::path mnist = {};  ///< the folder of MNIST's files, used instead of `data`; empty for none
  std::filesystem::path model = DIGITS_FOLDER "digits_gmlp.safetensors";
  std::filesystem::path expected = DIGITS_FOLDER "digits_expected.safetensors";  ///< empty if other data or models are given
  std::filesystem::path svg;                                                     ///< empty for no picture
  float max_pixel = 16;
  int threads = 1;
  bool all = false;
  bool ascii = false;
};

/// Parses the command line.
/// Errors: those of examples::parse().
Options parse_options(int count, char** arguments);

}  // namespace digits
