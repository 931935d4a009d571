#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gated/core/matrix.hpp"

namespace digits {

/// The command line.
struct Options {
  std::filesystem::path out = ".";     ///< the folder for all output
  std::filesystem::path resume = {};   ///< a training run to resume; empty for a new one
  std::optional<gated::Index> epochs;  ///< epochs in the whole run; by default as in the resumed file or the recipe
  gated::Index stop_after = 0;         ///< the epoch to stop after; 0 for none
  std::uint64_t seed = 1;
  int threads = 1;
  std::filesystem::path metrics;     ///< a CSV with a line per step; empty for none
  bool bf16 = false;                 ///< matmuls in bf16
  std::string mixer = "gmlp";        ///< a name from mixers.hpp
  std::filesystem::path data = {};   ///< a folder or CSV of the user's images
  std::optional<gated::Index> size;  ///< the side in pixels to which a folder's pictures are resized
  std::optional<float> max_pixel;    ///< the value of white in a CSV; by default its largest pixel
  std::filesystem::path mnist = {};  ///< the folder with the MNIST files; without this and `data`, the scanned digits
  bool validate = false;             ///< hold out some of MNIST's training images instead of the test images

  std::optional<double> learning_rate, weight_decay;  ///< by default the recipe's values
  std::optional<gated::Index> patch;                  ///< the side of a patch in pixels; by default the recipe's value

  /// The command-line arguments that choose the data and change the recipe.
  std::string recipe_arguments() const;
};

/// Parses the command line.
/// Errors: those of examples::parse().
Options parse_options(int count, char** arguments);

}  // namespace digits
