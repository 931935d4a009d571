#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/timm_model.hpp"
#include "gated/core/matrix.hpp"

namespace photos {

/// The command line.
struct Options {
  std::vector<std::filesystem::path> pictures;
  std::filesystem::path model;
  examples::TimmModel timm;
  std::filesystem::path labels;
  gated::Index top = 5;
  std::optional<double> crop;
  int threads = 1;
  bool random = false;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError if the model or the pictures are missing, unless --random is given.
Options parse_options(int count, char** arguments);

}  // namespace photos
