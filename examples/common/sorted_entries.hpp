#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

namespace examples {

/// The entries of `folder` that `wanted` accepts, sorted by name; hidden ones are left out.
template <class Wanted>
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder, const Wanted& wanted) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(".") && wanted(entry)) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace examples
