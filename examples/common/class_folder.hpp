#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"

namespace examples {

/// A file, expected to be a picture of the class `label`.
struct ClassPicture {
  std::filesystem::path path;
  gated::Index label;
  bool held_out;
};

/// A folder with one subfolder of pictures per class, such as birds/robin/1.jpg.
struct ClassFolder {
  std::vector<std::string> labels;     ///< the subfolders' names, sorted
  std::vector<ClassPicture> pictures;  ///< sorted by class, then by name; every fifth picture of a class is held out
};

/// Lists the files in the subfolders of `folder`, except hidden ones.
/// Errors: FileError if `folder` is not a folder or has fewer than 2 classes, if a class is empty, or if no file is held out;
/// ArgumentError if a class's name is not UTF-8.
ClassFolder list_classes(const std::filesystem::path& folder);

}  // namespace examples
