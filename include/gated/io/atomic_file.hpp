#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "gated/core/error.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

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
/// The bytes go to a temporary file in the same directory, which commit() flushes to the disk and renames. A file that is
/// replaced passes on its permissions; a symbolic link is followed. Without commit() the temporary file is removed.
///
/// Errors: FileError, starting with the path, if the directory cannot be written, the disk is full, or the path names
/// something else than a regular file.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
    namespace fs = std::filesystem;
    std::error_code error;
    for (int links = 0; fs::is_symlink(path_, error); ++links) {
      require<FileError>(links < 40, path_.string(), ": too many symbolic links.");
      path_ = path_.parent_path() / fs::read_symlink(path_, error);  // the link itself, if it is absolute
    }
    const fs::file_status old = fs::status(path_, error);
    if (fs::exists(old) && !fs::is_regular_file(old)) {
      raise<FileError>(path_.string(), fs::is_directory(old) ? ": is a directory, cannot write a file there."
                                                             : ": is not a regular file and is not replaced.");
    }
    int reason = EEXIST;
    for (int attempt = 0; attempt < 16 && file_ == nullptr && reason == EEXIST; ++attempt) {
      temporary_ = path_;
      temporary_ += text(".", random_number(), ".tmp");
      file_ = std::fopen(temporary_.string().c_str(), "wbx");  // x: never an existing file
      reason = file_ == nullptr ? errno : 0;
    }
    if (file_ == nullptr) {
      temporary_.clear();
      fail("cannot create", reason);
    }
    if (fs::is_regular_file(old)) {
      fs::permissions(temporary_, old.permissions(), error);
    }
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  /// Appends `bytes`.
  void write(std::span<const std::byte> bytes) {
    if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
      fail("cannot write", errno);
    }
  }

  /// Puts the file under its name. Call it once, last.
  void commit() {
    bool written = std::fflush(file_) == 0;
#if defined(__unix__) || defined(__APPLE__)
    written = written && (::fsync(::fileno(file_)) == 0 || errno == EINVAL);  // EINVAL: a file system without fsync
#endif
    int reason = written ? 0 : errno;
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && written) {
      reason = errno;
      written = false;
    }
    if (!written) {
      fail("cannot write", reason);
    }
    std::error_code error;
    std::filesystem::rename(temporary_, path_, error);
    if (error) {
      fail("cannot replace", error.value());
    }
    temporary_.clear();
  }

 private:
  static std::uint64_t random_number() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }

  void discard() noexcept {
    if (file_ != nullptr) {
      std::fclose(std::exchange(file_, nullptr));
    }
    if (!temporary_.empty()) {
      std::error_code ignored;
      std::filesystem::remove(temporary_, ignored);
      temporary_.clear();
    }
  }

  [[noreturn]] void fail(const char* what, int reason) {
    discard();  // before the error leaves, because a program without exceptions never comes back
    raise<FileError>(path_.string(), ": ", what, ": ", std::generic_category().message(reason), ".");
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

/// Writes one piece of memory as a whole file, atomically.
inline void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace gated
