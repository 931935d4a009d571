#pragma once

#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "gated/core/error.hpp"
#include "gated/io/atomic_file.hpp"
#include "gated/io/open_file.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace gated {

namespace detail {

inline std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// Locks the temporary `file` against remove_left_behind() until it is closed. Returns false if `file` has already been
/// removed.
inline bool keep_from_removal([[maybe_unused]] std::FILE* file) {
#if defined(__unix__) || defined(__APPLE__)
  struct ::stat status {};
  return ::flock(::fileno(file), LOCK_EX) != 0 || ::fstat(::fileno(file), &status) != 0 || status.st_nlink > 0;
#else
  return true;  // other systems refuse to remove an open file
#endif
}

/// Keeps the lock of keep_from_removal() while it lives, also after `file` is closed.
class KeptLock {
 public:
#if defined(__unix__) || defined(__APPLE__)
  explicit KeptLock(std::FILE* file) : copy_(::dup(::fileno(file))) {}
  ~KeptLock() { ::close(copy_); }
  KeptLock(const KeptLock&) = delete;
  KeptLock& operator=(const KeptLock&) = delete;

 private:
  int copy_;  // shares the lock of the original
#else
  explicit KeptLock(std::FILE*) {}
#endif
};

/// Removes `file` unless a process has it open for writing.
inline void remove_left_behind(const std::filesystem::path& file) {
#if defined(__unix__) || defined(__APPLE__)
  const int opened = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (opened >= 0) {
    if (::flock(opened, LOCK_EX | LOCK_NB) == 0) {
      ::unlink(file.c_str());
    }
    ::close(opened);
  }
#else
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
#endif
}

/// Removes temporary files of `path` left behind by killed processes.
inline void remove_left_behind_of(const std::filesystem::path& path) {
  const std::string start = path.filename().string() + ".", end = ".tmp";
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), last; !error && entry != last; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() > start.size() + end.size() && name.starts_with(start) && name.ends_with(end) &&
        name.find_first_not_of("0123456789", start.size()) == name.size() - end.size()) {
      remove_left_behind(entry->path());
    }
  }
}

}  // namespace detail

GATED_INLINE AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  require<FileError>(!path_.empty(), "AtomicFile: the path is empty. Name the file to write.");
  std::error_code error;
  for (int links = 0; fs::is_symlink(path_, error); ++links) {
    require<FileError>(links < 40, path_.string(), ": too many symbolic links.");
    path_ = path_.parent_path() / fs::read_symlink(path_, error);  // an absolute target replaces the directory
  }
  const fs::file_status old = fs::status(path_, error);
  if (fs::exists(old) && !fs::is_regular_file(old)) {
    raise<FileError>(path_.string(), fs::is_directory(old) ? ": is a directory, expected a file."
                                                           : ": is not a regular file and is not replaced.");
  }
  detail::remove_left_behind_of(path_);
  int reason = EEXIST;
  for (int attempt = 0; attempt < 16 && file_ == nullptr && reason == EEXIST; ++attempt) {
    temporary_ = path_;
    temporary_ += text(".", detail::random_number(), ".tmp");
    file_ = detail::open_file(temporary_, "wbx");  // x: fails if the file exists
    reason = file_ == nullptr ? errno : 0;
    if (file_ != nullptr && !detail::keep_from_removal(file_)) {
      std::fclose(std::exchange(file_, nullptr));
      reason = EEXIST;
    }
  }
  if (file_ == nullptr) {
    temporary_.clear();
    fail("cannot create", reason);
  }
  if (fs::is_regular_file(old)) {
    fs::permissions(temporary_, old.permissions(), error);
  }
}

GATED_INLINE void AtomicFile::write(std::span<const std::byte> bytes) {
  if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    fail("cannot write", errno);
  }
}

GATED_INLINE void AtomicFile::commit() {
  const detail::KeptLock lock(file_);  // until the file is renamed: other saves remove files that are not locked
  bool written = std::fflush(file_) == 0;
#if defined(__unix__) || defined(__APPLE__)
  written = written && (::fsync(::fileno(file_)) == 0 || errno == EINVAL);  // EINVAL: the file system does not support fsync
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

GATED_INLINE void AtomicFile::discard() noexcept {
  if (file_ != nullptr) {
    std::fclose(std::exchange(file_, nullptr));
  }
  if (!temporary_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
    temporary_.clear();
  }
}

[[noreturn]] GATED_INLINE void AtomicFile::fail(const char* what, int reason) {
  discard();  // before raise(): without exceptions, no destructor runs
  raise<FileError>(path_.string(), ": ", what, ": ", std::generic_category().message(reason), ".");
}

GATED_INLINE void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace gated
