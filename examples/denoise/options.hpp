#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gated/core/matrix.hpp"

namespace denoise {

/// The command line.
struct Options {
  std::filesystem::path in, out;           ///< WAV files
  std::filesystem::path model;             ///< from --train or convert.py; empty for the shipped model
  bool stream = false;                     ///< raw samples from stdin to stdout
  std::filesystem::path picture;           ///< an SVG of both spectrograms
  std::filesystem::path train;             ///< a folder of speech to train on
  std::filesystem::path test;              ///< a folder of speech to measure on
  std::string compare;                     ///< with `test`: the command of another denoiser
  gated::Index steps = 3000;               ///< number of training steps
  gated::Index batch = 16;                 ///< pieces of 3 seconds per step
  double rate = 3e-3;                      ///< the highest learning rate
  gated::Index channels = 128, depth = 6;  ///< width and number of blocks of a new model
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError for options that exclude each other, or a file that is missing.
Options parse_options(int count, char** arguments);

}  // namespace denoise
