#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"

namespace words {

/// The command line.
struct Options {
  std::string sound;               ///< a WAV file, or "-" for raw samples on stdin
  std::filesystem::path model;     ///< a file from --train; empty for the shipped one
  bool scores = false;             ///< print every score instead of events
  double threshold = 0.6;          ///< the lowest averaged score that is reported as a word
  std::filesystem::path train;     ///< a folder with a subfolder of WAV files per word
  std::filesystem::path test;      ///< a folder like `train`, to measure the model on
  std::vector<std::string> words;  ///< subfolders of the words to spot; empty for all
  std::filesystem::path out = "spotter.safetensors";
  gated::Index epochs = 40, depth = 6;
  double learning_rate = 2e-3;
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError for conflicting options.
Options parse_options(int count, char** arguments);

}  // namespace words
