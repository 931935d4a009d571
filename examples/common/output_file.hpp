#pragma once

#include <filesystem>

#include "gated/core/error.hpp"

namespace examples {

/// Checks that a result can be written to `file`; call it before long work.
/// Errors: FileError if the folder is missing, or `file` is a directory.
inline void expect_place_for(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const fs::path folder = file.parent_path();
  gated::require<gated::FileError>(folder.empty() || fs::is_directory(folder), file.string(), ": there is no folder ",
                                   folder.string(), ". Create it first.");
  gated::require<gated::FileError>(!fs::is_directory(file), file.string(), ": is a directory, cannot write a file there.");
}

}  // namespace examples
