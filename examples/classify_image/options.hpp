#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gated/io/image_input.hpp"

namespace photos {

/// The command line.
struct Options {
  std::vector<std::filesystem::path> pictures;
  std::filesystem::path model;
  std::string preset = "gmlp_s16_224";
  std::filesystem::path config;  // timm's config.json; empty for the preset
  std::filesystem::path labels;
  gated::Index top = 5;
  std::optional<double> crop;
  int threads = 1;
  bool random = false;
};

/// Reads the command line. Errors: UsageError for an unknown option, for a value that is missing or makes no sense, and if
/// there is neither a model nor --random, or no picture.
Options parse_options(int count, char** arguments);

}  // namespace photos
