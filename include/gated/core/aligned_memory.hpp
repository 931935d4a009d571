#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "gated/core/matrix.hpp"

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

/// Uninitialised numbers, aligned to cache lines. Large arrays ask for large pages where the system has them on demand (Linux'
/// madvise): a product walks through more pages of 4 KiB than the TLB holds.
template <class T>
class AlignedMemory {
 public:
  explicit AlignedMemory(std::size_t count)
      : data_(static_cast<T*>(::operator new(bytes(count), alignment(count))), Delete{alignment(count)}), count_(count) {
    ask_for_large_pages();
  }
  /// Leaves data() null where there is no memory.
  AlignedMemory(std::size_t count, std::nothrow_t)
      : data_(static_cast<T*>(::operator new(bytes(count), alignment(count), std::nothrow)), Delete{alignment(count)}),
        count_(count) {
    ask_for_large_pages();
  }

  T* data() const { return data_.get(); }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t large_page = std::size_t{1} << 21;

  struct Delete {
    std::align_val_t alignment;
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };

  static std::size_t bytes(std::size_t count) { return count * sizeof(T); }
  static bool is_large(std::size_t count) { return bytes(count) >= 2 * large_page; }
  static std::align_val_t alignment(std::size_t count) {
    return std::align_val_t{is_large(count) ? large_page : static_cast<std::size_t>(cache_line_bytes)};
  }

  void ask_for_large_pages() const {
#ifdef MADV_HUGEPAGE
    if (data_ != nullptr && is_large(count_)) {
      ::madvise(data_.get(), bytes(count_) / large_page * large_page, MADV_HUGEPAGE);  // a wish: its failure is no error
    }
#endif
  }

  std::unique_ptr<T, Delete> data_;
  std::size_t count_;
};

}  // namespace gated
