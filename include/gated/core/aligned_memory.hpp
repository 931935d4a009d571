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

/// Uninitialised numbers, aligned to cache lines. Large arrays ask for large pages where the system has them on demand (Linux'
/// madvise): a product walks through more pages of 4 KiB than the processor remembers the addresses of.
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
  static constexpr std::size_t cache_line = 64;
  static constexpr std::size_t large_page = std::size_t{1} << 21;

  struct Delete {
    std::align_val_t alignment;
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };

  static std::size_t bytes(std::size_t count) { return count * sizeof(T); }
  static std::align_val_t alignment(std::size_t count) {
    return std::align_val_t{bytes(count) < 2 * large_page ? cache_line : large_page};
  }

  void ask_for_large_pages() const {
#ifdef MADV_HUGEPAGE
    if (data_ != nullptr && bytes(count_) >= 2 * large_page) {
      ::madvise(data_.get(), bytes(count_) / large_page * large_page, MADV_HUGEPAGE);  // a wish: its failure is no error
    }
#endif
  }

  std::unique_ptr<T, Delete> data_;
  std::size_t count_;
};

}  // namespace gated
