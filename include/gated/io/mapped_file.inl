#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <new>
#include <string>
#include <system_error>

#include "gated/core/error.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/open_file.hpp"

#if (defined(__unix__) || defined(__APPLE__)) && !defined(GATED_NO_MMAP)
#define GATED_HAS_MMAP 1
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define GATED_HAS_MMAP 0
#endif

namespace gated {

namespace detail {

[[noreturn]] inline void fail_to_map(const std::filesystem::path& path, const char* what, int error) {
  raise<FileError>(path.string(), ": ", what, ": ", std::generic_category().message(error), ".");
}

inline void expect_path(const std::filesystem::path& path) {
  require<FileError>(!path.empty(), "MappedFile: the path is empty. Name the file to read.");
}

[[noreturn]] inline void refuse_kind(const std::filesystem::path& path, bool directory) {
  raise<FileError>(path.string(), directory ? ": is a directory, expected a file." : ": is not a regular file.");
}

}  // namespace detail

#if GATED_HAS_MMAP
GATED_INLINE MappedFile::MappedFile(const std::filesystem::path& path) {
  detail::expect_path(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // opening a pipe without a writer must not block
  if (file < 0) {
    detail::fail_to_map(path, "cannot open", errno);
  }
  struct ::stat status {};
  const int error = ::fstat(file, &status) == 0 ? 0 : errno;
  const bool regular = error == 0 && S_ISREG(status.st_mode);
  const bool fits = regular && static_cast<std::uintmax_t>(status.st_size) <= std::numeric_limits<std::size_t>::max();
  void* memory = nullptr;
  int map_error = 0;
  if (fits && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    map_error = memory == MAP_FAILED ? errno : 0;
  }
  ::close(file);  // the mapping stays valid
  if (error != 0) {
    detail::fail_to_map(path, "cannot inspect", error);
  }
  if (!regular) {
    detail::refuse_kind(path, S_ISDIR(status.st_mode));
  }
  if (!fits || map_error != 0) {
    detail::fail_to_map(path, "cannot map", fits ? map_error : EFBIG);
  }
  if (memory != nullptr) {
    const std::size_t size = size_;
    data_ = std::shared_ptr<const std::byte>(static_cast<const std::byte*>(memory), [size](const std::byte* mapped) {
      ::munmap(const_cast<std::byte*>(mapped), size);
    });
  }
}
#else
GATED_INLINE MappedFile::MappedFile(const std::filesystem::path& path) {
  detail::expect_path(path);
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found) {
    detail::refuse_kind(path, kind == std::filesystem::file_type::directory);
  }
  std::FILE* const file = detail::open_file(path, "rb");
  if (file == nullptr) {
    detail::fail_to_map(path, "cannot open", errno);
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  const bool fits = !error && size <= std::numeric_limits<std::size_t>::max();
  std::size_t got = 0;
  bool out_of_memory = false;
  if (fits) {
    size_ = static_cast<std::size_t>(size);
    std::shared_ptr<std::byte> memory(new (std::nothrow) std::byte[size_ + 1], [](std::byte* owned) { delete[] owned; });
    out_of_memory = memory == nullptr;
    got = out_of_memory ? 0 : std::fread(memory.get(), 1, size_, file);
    data_ = memory;
  }
  std::fclose(file);
  if (!fits || got != size_) {
    detail::fail_to_map(path, "cannot read", out_of_memory ? ENOMEM : EIO);
  }
}
#endif

GATED_INLINE void MappedFile::release([[maybe_unused]] std::span<const std::byte> bytes) const {
#if GATED_HAS_MMAP && defined(MADV_DONTNEED)
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data()), end = (start + bytes.size()) / page * page;
  const auto mapped = reinterpret_cast<std::uintptr_t>(data_.get());
  const bool is_part = start >= mapped && start + bytes.size() <= mapped + size_;  // other memory would be lost
  if (const std::uintptr_t first = (start + page - 1) / page * page; is_part && first < end) {
    ::madvise(const_cast<std::byte*>(bytes.data()) + (first - start), end - first, MADV_DONTNEED);  // best effort
  }
#endif
}

}  // namespace gated
