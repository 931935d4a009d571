#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gated/models/sampling.hpp"

namespace text {

/// The parsed command line.
struct Options {
  std::filesystem::path checkpoint = GENERATE_TEXT_FOLDER "bible.int8.safetensors";
  std::string random;          ///< "gmlp", "toeplitz" or "flash": a model with random weights instead of a checkpoint
  std::filesystem::path save;  ///< where to write the random model
  std::string prompt;
  gated::Index tokens = 256;  ///< 0: until Ctrl-C
  gated::Sampling sampling{};
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError for --top-p 0.
Options parse_options(int count, char** arguments);

}  // namespace text
