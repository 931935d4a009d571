#pragma once

#include <cstdint>
#include <filesystem>

#include "gated/core/matrix.hpp"

namespace denoise {

/// The command line.
struct Options {
  std::filesystem::path in, out;           ///< WAV files
  std::filesystem::path model;             ///< of --train, or MossFormer2_SE_48K by convert.py; empty for the one shipped
  bool stream = false;                     ///< raw samples from stdin to stdout
  std::filesystem::path picture;           ///< an SVG of both spectrograms
  std::filesystem::path train;             ///< a folder of speech to train on
  std::filesystem::path test;              ///< a folder of speech to measure on
  gated::Index steps = 3000;               ///< of the whole training
  gated::Index batch = 16;                 ///< pieces of 3 seconds per step
  double rate = 3e-3;                      ///< the highest learning rate
  gated::Index channels = 128, depth = 6;  ///< of a new model
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError for options that do not go together.
Options parse_options(int count, char** arguments);

}  // namespace denoise
