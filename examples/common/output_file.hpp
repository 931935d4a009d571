#pragma once

#include <filesystem>

#include "gated/core/error.hpp"

namespace examples {

/// Checks that `file` can be an output file. Call it before long work, whose result would otherwise be lost.
/// Errors: FileError if the folder is missing, or `file` is a directory.
inline void expect_place_for(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const fs::path folder = file.parent_path();
  gated::require<gated::FileError>(folder.empty() || fs::is_directory(folder), file.string(), ": there is no folder ",
                                   folder.string(), ". Create it first.");
  gated::require<gated::FileError>(!fs::is_directory(file), file.string(), ": is a directory, expected a file.");
}

}  // namespace examples
