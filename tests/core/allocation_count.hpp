#pragma once

#include <atomic>

/// The number of heap allocations of a program, one of whose source files includes tests/core/allocations.hpp.

namespace gated::test {

inline std::atomic<long> allocation_count{0};

/// The number of allocations while `f` runs, on any thread.
template <class F>
long allocations_during(F&& f) {
  const long before = allocation_count;
  f();
  return allocation_count - before;
}

}  // namespace gated::test
