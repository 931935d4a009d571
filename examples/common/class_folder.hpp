#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"

namespace examples {

/// A file that is to be a picture of that class.
struct ClassPicture {
  std::filesystem::path path;
  gated::Index label;
  bool held_out;
};

/// A folder that has a folder of pictures for each class, such as birds/robin/1.jpg.
struct ClassFolder {
  std::vector<std::string> labels;     ///< the folders' names, in order
  std::vector<ClassPicture> pictures;  ///< class by class, in the order of names; every fifth of a class is held out
};

/// Lists all files of the folders in `folder`, hidden ones left out.
/// Errors: FileError for what is no folder, fewer than 2 classes, a class without files, and if no file is held out.
ClassFolder list_classes(const std::filesystem::path& folder);

}  // namespace examples
