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
/// Memory for many numbers.

namespace gated {

/// `count` numbers and those that fill up their last cache line: pieces of this size, one after another, each start a line.
template <class T>
constexpr std::size_t whole_cache_lines(std::size_t count) {
  constexpr std::size_t line = static_cast<std::size_t>(cache_line_bytes) / sizeof(T);
  return (count + line - 1) / line * line;
}

/// Asks for large pages for as much of `bytes` as they can cover, where the system has them on demand (Linux' madvise): a
/// product walks through more pages of 4 KiB than the TLB holds.
inline void ask_for_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = std::uintptr_t{1} << 21;
  const auto start = reinterpret_cast<std::uintptr_t>(memory), end = (start + bytes) / page * page;
  const std::uintptr_t first = (start + page - 1) / page * page;
  if (first < end) {
    ::madvise(static_cast<std::byte*>(memory) + (first - start), end - first, MADV_HUGEPAGE);  // a wish: failing is no error
  }
#endif
}

/// Uninitialised numbers, aligned to cache lines. Large arrays ask for large pages.
template <class T>
class AlignedMemory {
 public:
  /// Errors: MemoryError.
  explicit AlignedMemory(std::size_t count) : AlignedMemory(count, std::nothrow) {
    if (data_ == nullptr) {
      detail::refuse_memory("AlignedMemory", static_cast<Index>(std::min<std::size_t>(count, Count::most)), 1, sizeof(T));
    }
  }
  /// Leaves data() null where there is no memory.
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

  /// Saturates instead of overflowing.
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
