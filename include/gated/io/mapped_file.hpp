#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "gated/core/compiler.hpp"

/// @file
/// Memory-mapped files.

namespace gated {

/// The bytes of a regular file: memory-mapped if the system supports it and `GATED_NO_MMAP` is not defined, otherwise read into
/// memory.
///
/// Copies share the bytes; the last copy releases them. Do not truncate a file while it is mapped: reading a lost page kills
/// the process (SIGBUS). Replacing it, as write_safetensors() does, is safe: the old content lives until it is unmapped.
///
/// Errors: FileError, starting with the path, if the file is missing, unreadable or not a regular file, or the path is empty.
/// Cost: constant time to map; pages are read on first access.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

  /// Releases the pages of `bytes`; they are read again on the next access. Does nothing unless `bytes` is a part of bytes().
  void release(std::span<const std::byte> bytes) const;

 private:
  std::shared_ptr<const std::byte> data_;
  std::size_t size_ = 0;
};

/// The bytes of `file` as text; `file` must outlive the result.
inline std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/mapped_file.inl"
#endif
