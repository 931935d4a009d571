#include "common/class_folder.hpp"

#include "common/sorted_entries.hpp"
#include "gated/core/error.hpp"
#include "gated/io/labels.hpp"

namespace examples {

namespace fs = std::filesystem;
using gated::FileError, gated::require;

ClassFolder list_classes(const fs::path& folder) {
  const std::string name = folder.string();
  require<FileError>(fs::exists(folder), name, ": no such folder. Give one with a subfolder of pictures per class.");
  require<FileError>(fs::is_directory(folder), name, ": is a file, expected a folder with a subfolder of pictures per class.");
  const auto folders = sorted_entries(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); });
  require<FileError>(folders.size() >= 2, name, ": expected subfolders for 2 or more classes, got ", folders.size(), ".");
  ClassFolder classes;
  bool any_held_out = false;
  for (const fs::path& one : folders) {
    const auto files = sorted_entries(one, [](const fs::directory_entry&) { return true; });
    require<FileError>(!files.empty(), one.string(), ": has no pictures. Add some, or remove the folder.");
    for (std::size_t i = 0; i < files.size(); ++i) {
      const bool held_out = i % 5 == 4;
      classes.pictures.push_back({files[i], static_cast<gated::Index>(classes.labels.size()), held_out});
      any_held_out = any_held_out || held_out;
    }
    classes.labels.push_back(one.filename().string());
  }
  gated::labels_text(classes.labels);  // raises its errors before training, not when the model is saved
  require<FileError>(any_held_out, name, ": too few pictures. Give at least one class 5 pictures: every fifth is held out.");
  return classes;
}

}  // namespace examples
