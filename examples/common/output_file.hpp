#pragma once

#include <filesystem>

#include "gated/core/error.hpp"

namespace examples {

/// Asks for a place where a file can be written, before the work whose result goes there.
/// Errors: FileError for a folder that is missing, and for the path of a folder.
inline void expect_place_for(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const fs::path folder = file.parent_path();
  gated::require<gated::FileError>(folder.empty() || fs::is_directory(folder), file.string(), ": there is no folder ",
                                   folder.string(), ". Make it first.");
  gated::require<gated::FileError>(!fs::is_directory(file), file.string(), ": is a directory, cannot write a file there.");
}

}  // namespace examples
