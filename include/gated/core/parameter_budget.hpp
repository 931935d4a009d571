#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "gated/core/count.hpp"

/// @file
/// A memory limit for models from untrusted configurations.

namespace gated {

/// While a ParameterBudget is alive, the layers built on this thread may hold at most `most` values in total. A layer that
/// would exceed the budget raises FileError before it allocates. For configurations from untrusted files.
class ParameterBudget {
 public:
  /// `refusal` is the message of the FileError that spend() raises.
  ParameterBudget(Count most, std::string refusal)
      : left_(most.value()), refusal_(std::move(refusal)), around_(std::exchange(current(), this)) {}
  ~ParameterBudget() { current() = around_; }
  ParameterBudget(const ParameterBudget&) = delete;
  ParameterBudget& operator=(const ParameterBudget&) = delete;

  /// Deducts `values` from this thread's budget, if it has one.
  /// Errors: FileError if the budget is too small.
  static void spend(Count values) {
    if (ParameterBudget* const budget = current()) {
      require<FileError>(values.value() <= budget->left_, budget->refusal_);
      budget->left_ -= values.value();
    }
  }

 private:
  static ParameterBudget*& current() {
#if GATED_HAS_THREADS
    static constinit thread_local ParameterBudget* budget = nullptr;
#else
    static constinit ParameterBudget* budget = nullptr;
#endif
    return budget;
  }

  Index left_;
  std::string refusal_;
  ParameterBudget* around_;
};

namespace detail {

[[noreturn]] inline void refuse_memory(Where where, Count rows, Count columns, Index size) {
  const Count bytes = rows * columns * size;
  raise<MemoryError>(where, ": ", rows.value(), " × ", columns.value(), " elements take ",
                     bytes == Count::most ? "more than " : "", bytes.value(),
                     " bytes, which cannot be allocated. Choose smaller sizes.");
}

}  // namespace detail

/// Deducts rows × columns elements from the ParameterBudget, and raises MemoryError unless their memory can be allocated. Call
/// it before a container allocates: a failure there throws std::bad_alloc or, without exceptions, ends the program. Returns the
/// number of elements.
/// Cost: one allocation, freed at once.
template <class T>
Index expect_memory(Where where, Count rows, Count columns = 1) {
  ParameterBudget::spend(rows * columns);
  constexpr Index size = sizeof(T);
  const Count bytes = rows * columns * size;
  void* volatile memory =  // volatile: the compiler may otherwise elide new and delete
      bytes == Count::most ? nullptr : ::operator new(static_cast<std::size_t>(bytes.value()), std::nothrow);
  if (memory == nullptr) {
    detail::refuse_memory(where, rows, columns, size);
  }
  ::operator delete(memory);
  return (rows * columns).value();
}

}  // namespace gated
