#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "gated/core/matrix.hpp"

/// @file
/// Element counts from untrusted sizes, and whether they fit in memory.

namespace gated {

/// A number of things that never overflows: sums and products beyond the largest Index stay there, and sizes below 0, which
/// every constructor refuses, count as 0.
class Count {
 public:
  static constexpr Index most = std::numeric_limits<Index>::max();

  constexpr Count(Index count) : count_(count < 0 ? 0 : count) {}  // NOLINT: a size is a count

  constexpr Index value() const { return count_; }

  friend constexpr Count operator+(Count a, Count b) { return a.count_ > most - b.count_ ? most : a.count_ + b.count_; }
  friend constexpr Count operator*(Count a, Count b) {
    return b.count_ != 0 && a.count_ > most / b.count_ ? most : a.count_ * b.count_;
  }
  Count& operator+=(Count other) { return *this = *this + other; }

  friend constexpr bool operator==(Count, Count) = default;

 private:
  Index count_;
};

namespace detail {

[[noreturn]] inline void refuse_memory(Where where, Count rows, Count columns, Index size) {
  const Count bytes = rows * columns * size;
  raise<MemoryError>(where, ": ", rows.value(), " × ", columns.value(), " elements take ",
                     bytes == Count::most ? "more than " : "", bytes.value(),
                     " bytes, which cannot be allocated. Choose smaller sizes.");
}

}  // namespace detail

/// Raises MemoryError unless rows × columns elements of `T` can be allocated. Call it before a container would throw
/// std::bad_alloc, or end a program without exceptions.
/// Cost: one allocation, freed at once.
template <class T>
void expect_memory(Where where, Count rows, Count columns = 1) {
  constexpr Index size = sizeof(T);
  const Count bytes = rows * columns * size;
  void* volatile memory =  // volatile: or the compiler may leave out both
      bytes == Count::most ? nullptr : ::operator new(static_cast<std::size_t>(bytes.value()), std::nothrow);
  if (memory == nullptr) {
    detail::refuse_memory(where, rows, columns, size);
  }
  ::operator delete(memory);
}

}  // namespace gated
