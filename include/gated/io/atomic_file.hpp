#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>

#include "gated/core/compiler.hpp"

/// @file
/// Atomic file writes: all or nothing.

namespace gated {

/// A file written atomically: it appears under its name when commit() returns. Until then, and after any failure, the old file
/// is untouched.
///
///     AtomicFile file("model.safetensors");
///     file.write(header);
///     file.write(data);
///     file.commit();
///
/// write() writes to a temporary file in the same directory, "NAME.DIGITS.tmp"; commit() syncs it to disk and renames it. The
/// permissions of a replaced file are kept, and symbolic links are followed. Without commit() the destructor removes the
/// temporary file. The next AtomicFile for the same path removes temporary files left by killed processes. Threads and
/// processes may write to one path concurrently: each locks its own temporary file, and the last commit wins.
///
/// Errors: FileError, with a message that starts with the path, if the directory is not writable, the disk is full, or the path
/// exists and is not a regular file.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  /// Appends `bytes`.
  void write(std::span<const std::byte> bytes);

  /// Renames the file to its final name. Call commit() once, after the last write().
  void commit();

 private:
  void discard() noexcept;
  [[noreturn]] void fail(const char* what, int reason);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

/// Writes `bytes` to the file at `path`, atomically.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/atomic_file.inl"
#endif
