#include "tests/core/allocations.hpp"

#include <new>

#if defined(_WIN32)
#include <malloc.h>  // _aligned_malloc()
#endif

// A false positive: GCC inlines both operators, then reports that memory from operator new is released by free().
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace gated::test {
namespace {

void* counted_allocation(std::size_t size, std::size_t alignment) {
  ++allocation_count;
  size = (size == 0 ? 1 : size) + alignment - 1;
#if defined(_WIN32)
  return _aligned_malloc(size, alignment);
#else
  return std::aligned_alloc(alignment, size / alignment * alignment);
#endif
}

void counted_release(void* p) {
#if defined(_WIN32)
  _aligned_free(p);
#else
  std::free(p);
#endif
}

void* counted_allocation_or_throw(std::size_t size, std::size_t alignment) {
  void* const result = counted_allocation(size, alignment);
  if (result == nullptr) {
    throw std::bad_alloc();
  }
  return result;
}

}  // namespace
}  // namespace gated::test

void* operator new(std::size_t size) {
  return gated::test::counted_allocation_or_throw(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return gated::test::counted_allocation(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return gated::test::counted_allocation_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return gated::test::counted_allocation(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { gated::test::counted_release(p); }
void operator delete(void* p, std::size_t) noexcept { gated::test::counted_release(p); }
void operator delete(void* p, std::align_val_t) noexcept { gated::test::counted_release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { gated::test::counted_release(p); }

#if GATED_TEST_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(std::size_t size) noexcept;

void* malloc(std::size_t size) noexcept {
  ++gated::test::allocation_count;
  return __libc_malloc(size);
}
}
#endif
