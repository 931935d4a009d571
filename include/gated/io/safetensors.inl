#pragma once

#include "gated/io/safetensors.hpp"

namespace gated {

GATED_INLINE SafetensorsFile::SafetensorsFile(std::vector<MappedFile> files, std::span<const std::byte> bytes, std::string name)
    : files_(std::move(files)),
      name_(std::move(name)),
      contents_(parse_safetensors(files_.empty() ? bytes : files_.front().bytes(), name_)) {}

GATED_INLINE SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile({MappedFile(path)}, {}, path.string()) {}

GATED_INLINE SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, std::string name) {
  return SafetensorsFile({}, bytes, std::move(name));
}

GATED_INLINE SafetensorsFile SafetensorsFile::join(std::span<const SafetensorsFile> files, std::string name) {
  require<FileError>(!files.empty(), name, ": there are no files.");
  SafetensorsFile all = files.front();
  all.name_ = std::move(name);
  all.contents_.metadata.clear();
  for (const SafetensorsFile& file : files.subspan(1)) {
    all.files_.insert(all.files_.end(), file.files_.begin(), file.files_.end());
    for (const auto& [tensor, entry] : file.tensors()) {
      require<FileError>(all.contents_.tensors.emplace(tensor, entry).second, file.name(), ": the tensor ", printable(tensor),
                         " is also in another file.");
    }
  }
  return all;
}

GATED_INLINE void SafetensorsFile::verify() const {
  if (const auto stated = metadata().find(checksum_key); stated != metadata().end()) {
    const std::string found = checksum_of(contents_, [this](std::span<const std::byte> bytes) { release(bytes); });
    require<FileError>(found == stated->second, name_, ": the file is damaged: its checksum is ", found, ", expected ",
                       printable(stated->second), ". Copy or download it again. If a program changed it on ",
                       "purpose, have it remove \"", checksum_key, "\" from the metadata.");
  }
}

GATED_INLINE bool SafetensorsFile::contains(std::string_view name) const {
  return contents_.tensors.find(name) != contents_.tensors.end();
}

GATED_INLINE const TensorEntry& SafetensorsFile::tensor(std::string_view name) const {
  const auto found = contents_.tensors.find(name);
  if (found == contents_.tensors.end()) {
    std::vector<std::string_view> names;
    for (const auto& [candidate, entry] : contents_.tensors) {
      names.push_back(candidate);
    }
    const std::string nearest = printable(nearest_name(name, names));
    raise<FileError>(name_, ": there is no tensor \"", printable(name), "\"",
                     nearest.empty() ? text(".") : text("; the nearest name is \"", nearest, "\"."));
  }
  return found->second;
}

}  // namespace gated
