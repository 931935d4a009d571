#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "gated/core/parameter_budget.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

/// @file
/// Cache-line-aligned memory for large arrays.

namespace gated {

/// `count` rounded up to whole cache lines of `T`, so that adjacent arrays of this size all start on a cache line.
template <class T>
constexpr std::size_t whole_cache_lines(std::size_t count) {
  constexpr std::size_t line = static_cast<std::size_t>(cache_line_bytes) / sizeof(T);
  return (count + line - 1) / line * line;
}

#ifdef MADV_HUGEPAGE
/// Advises Linux about the whole pages, of `page` bytes each, within the `bytes` bytes at `memory`. Best effort.
inline void advise_pages(void* memory, std::size_t bytes, std::uintptr_t page, int advice) {
  const auto start = reinterpret_cast<std::uintptr_t>(memory), end = (start + bytes) / page * page;
  const std::uintptr_t first = (start + page - 1) / page * page;
  if (first < end) {
    ::madvise(static_cast<std::byte*>(memory) + (first - start), end - first, advice);
  }
}
#endif

/// Requests 2 MiB pages for the `bytes` bytes at `memory`, except for partly filled pages at the ends (a no-op on systems other
/// than Linux). With 4 KiB pages, a matmul touches more pages than the TLB has entries.
inline void ask_for_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  advise_pages(memory, bytes, std::uintptr_t{1} << 21, MADV_HUGEPAGE);
#endif
}

/// Requests small pages, for memory that stays mostly untouched: one write to a 2 MiB page takes 2 MiB of memory.
inline void ask_for_small_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  advise_pages(memory, bytes, std::uintptr_t{1} << 16, MADV_NOHUGEPAGE);  // 64 KiB: a multiple of every system's page size
#endif
}

/// An uninitialized array that starts on a cache line. Requests 2 MiB pages for arrays of 4 MiB or more.
template <class T>
class AlignedMemory {
 public:
  /// Errors: MemoryError.
  explicit AlignedMemory(std::size_t count) : AlignedMemory(count, std::nothrow) {
    if (data_ == nullptr) {
      detail::refuse_memory("AlignedMemory", static_cast<Index>(std::min<std::size_t>(count, Count::most)), 1, sizeof(T));
    }
  }
  /// data() is nullptr if the allocation fails.
  AlignedMemory(std::size_t count, std::nothrow_t)
      : data_(static_cast<T*>(::operator new(bytes(count), alignment(count), std::nothrow)), Delete{alignment(count)}),
        count_(count) {
    ask();
  }

  T* data() const { return data_.get(); }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t large_page = std::size_t{1} << 21;

  struct Delete {
    std::align_val_t alignment;
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };

  /// Size of `count` elements in bytes. Saturates instead of overflowing.
  static std::size_t bytes(std::size_t count) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 2;
    return count > most / sizeof(T) ? most : count * sizeof(T);
  }
  static bool is_large(std::size_t count) { return bytes(count) >= 2 * large_page; }
  static std::align_val_t alignment(std::size_t count) {
    return std::align_val_t{is_large(count) ? large_page : static_cast<std::size_t>(cache_line_bytes)};
  }

  void ask() const {
    if (data_ != nullptr && is_large(count_)) {
      ask_for_large_pages(data_.get(), bytes(count_));
    }
  }

  std::unique_ptr<T, Delete> data_;
  std::size_t count_;
};

}  // namespace gated
