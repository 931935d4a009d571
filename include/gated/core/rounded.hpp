#pragma once

#include "gated/core/compiler.hpp"

/// @file
/// Rounds products before they are added.

namespace gated {

/// Returns `x`, rounded to T. Compilers cannot fuse `rounded(a * b) + c` into a multiply-add, whatever their flags: the sum has
/// the same bits on machines with and without a fused multiply-add instruction. For float and double.
template <class T>
inline T rounded(T x) {
#if defined(__wasm__)
  // SIMD128 has no fused multiply-add.
#elif defined(__SSE2__)
  __asm__("" : "+x"(x));
#elif defined(__aarch64__)
  __asm__("" : "+w"(x));
#elif defined(__ARM_FP)
  if constexpr (sizeof(T) == 4) {
    __asm__("" : "+t"(x));
  } else {
    __asm__("" : "+m"(x));
  }
#elif defined(__GNUC__)
  __asm__("" : "+m"(x));
#endif
  return x;
}

}  // namespace gated
