#pragma once

#include <filesystem>
#include <initializer_list>
#include <system_error>

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

/// Checks that `file` is none of the `inputs`, which writing it would destroy. Empty paths are ignored.
/// Errors: ArgumentError, naming the input.
inline void expect_no_input(const std::filesystem::path& file, std::initializer_list<std::filesystem::path> inputs) {
  for (const std::filesystem::path& input : inputs) {
    std::error_code none;
    gated::require<gated::ArgumentError>(!std::filesystem::equivalent(file, input, none), file.string(), ": is also an input, ",
                                         input.string(), ". Give the result another name.");
  }
}

}  // namespace examples
