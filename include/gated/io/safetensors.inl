#pragma once

#include "gated/io/safetensors.hpp"

namespace gated {

GATED_INLINE SafetensorsFile::SafetensorsFile(std::optional<MappedFile> file, std::span<const std::byte> bytes,
                                              std::string name)
    : file_(std::move(file)), name_(std::move(name)), contents_(parse_safetensors(file_ ? file_->bytes() : bytes, name_)) {}

GATED_INLINE SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile(MappedFile(path), {}, path.string()) {}

GATED_INLINE SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, std::string name) {
  return SafetensorsFile(std::nullopt, bytes, std::move(name));
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
