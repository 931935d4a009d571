#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

/// Counts heap allocations. Link tests/core/allocations.cpp, which replaces the global allocation functions.

// Eigen allocates with malloc. malloc is counted only with glibc and without sanitizers, where it can be replaced.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GATED_TEST_COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define GATED_TEST_COUNTS_MALLOC 0
#endif
#endif
#if !defined(GATED_TEST_COUNTS_MALLOC)
#if defined(__GLIBC__)
#define GATED_TEST_COUNTS_MALLOC 1
#else
#define GATED_TEST_COUNTS_MALLOC 0
#endif
#endif

namespace gated::test {

inline std::atomic<long> allocation_count{0};

/// Number of allocations by all threads while `f` runs.
template <class F>
long allocations_during(F&& f) {
  const long before = allocation_count;
  f();
  return allocation_count - before;
}

/// Whether allocations are counted: otherwise a test that expects none would prove nothing. Calls the functions themselves, because
/// a compiler may leave out a new-expression (clang does).
inline bool allocations_are_counted() {
  return allocations_during([] { ::operator delete(::operator new(1)); }) > 0;
}

}  // namespace gated::test
