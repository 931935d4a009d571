#pragma once

#include "gated/core/compiler.hpp"

/// @file
/// Rounding of products before they are added.

namespace gated {

/// `x`, rounded here: compilers fuse `rounded(a * b) + c` into no multiply-add, whatever their flags, so that it has the same bits
/// on machines that have none. For float and double.
template <class T>
inline T rounded(T x) {
#if defined(__SSE2_MATH__) || defined(__x86_64__)
  __asm__("" : "+x"(x));
#elif defined(__aarch64__)
  __asm__("" : "+w"(x));
#elif defined(__wasm__)
  // No instruction fuses.
#elif defined(__GNUC__)
  __asm__("" : "+m"(x));
#endif
  return x;
}

}  // namespace gated
