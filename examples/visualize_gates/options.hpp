#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/timm_model.hpp"
#include "gated/core/matrix.hpp"

namespace gates {

/// The command line.
struct Options {
  std::filesystem::path checkpoint = DEFAULT_CHECKPOINT;
  examples::TimmModel timm;
  std::string out = "gates";             ///< the prefix of the pictures' names
  std::optional<gated::Index> block;     ///< the block to draw; by default all
  std::vector<gated::Index> rows;        ///< the tokens whose filters are drawn; by default all
  std::optional<std::string> attention;  ///< "random", or a CSV file with an input
};

/// Parses the command line.
/// Errors: those of examples::parse().
Options parse_options(int count, char** arguments);

}  // namespace gates
