#pragma once

#include <cstdio>
#include <filesystem>

#include "gated/core/compiler.hpp"

/// @file
/// std::fopen() for a path of any characters.

namespace gated::detail {

/// Opens the file at `path`. On Windows, a narrow path could not hold all characters. Returns null after an error, see errno.
inline std::FILE* open_file(const std::filesystem::path& path, const char* mode) {
#if defined(_WIN32)
  return ::_wfopen(path.c_str(), std::filesystem::path(mode).c_str());
#else
  return std::fopen(path.c_str(), mode);
#endif
}

}  // namespace gated::detail
