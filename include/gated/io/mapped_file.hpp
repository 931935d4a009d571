#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "gated/core/compiler.hpp"

/// @file
/// A whole file as read-only bytes.

namespace gated {

/// The bytes of a regular file: mapped where the system can, read into memory elsewhere (or with `GATED_NO_MMAP`).
///
/// Copies share the bytes, and the last copy gives them back. The file must not be shortened while it is mapped: reading a
/// page that is gone ends the process (SIGBUS). Files that write_safetensors() replaces are safe, because their old content
/// lives on until it is unmapped.
///
/// Errors: FileError, starting with the path, if the file is missing, unreadable or not a regular file.
/// Cost: mapping is constant; pages are read when they are first touched.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

  /// Gives back the memory of `bytes`, a part of bytes(): their pages are read anew when they are touched again.
  void release(std::span<const std::byte> bytes) const;

 private:
  std::shared_ptr<const std::byte> data_;
  std::size_t size_ = 0;
};

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/mapped_file.inl"
#endif
