#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>

#include "gated/core/compiler.hpp"

/// @file
/// Files that are written completely or not at all.

namespace gated {

/// A file that appears under its name only when commit() returns; until then, and after any failure, what was there before
/// is still there, untouched.
///
///     AtomicFile file("model.safetensors");
///     file.write(header);
///     file.write(data);
///     file.commit();
///
/// The bytes go to a temporary file in the same directory, "NAME.DIGITS.tmp", which commit() flushes to the disk and renames. A
/// file that is replaced passes on its permissions; a symbolic link is followed. Without commit() the temporary file is
/// removed; what a killed process left, the next AtomicFile of that path removes. Any number of threads and processes may write
/// to one path: each has a temporary file that it locks, and the last one wins.
///
/// Errors: FileError, starting with the path, if the directory cannot be written, the disk is full, or the path names
/// something else than a regular file.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  /// Appends `bytes`.
  void write(std::span<const std::byte> bytes);

  /// Puts the file under its name. Call it once, last.
  void commit();

 private:
  void discard() noexcept;
  [[noreturn]] void fail(const char* what, int reason);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

/// Writes one piece of memory as a whole file, atomically.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/atomic_file.inl"
#endif
