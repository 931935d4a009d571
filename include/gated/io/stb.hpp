#pragma once

#include "gated/core/compiler.hpp"

/// @file
/// stb's image reader and writer in the namespace gated::detail::stb.

// Reader and writer are compiled into each translation unit that includes this header. They are inside our namespace, so they
// do not clash with other copies of stb. One exception: at -O0, g++ merges our reader with a program's own copy, because stb
// declares the reader's functions extern "C". All headers that stb includes are included here first, outside the namespace.
// The reader's SIMD code is disabled: it would include more headers, and the pixels are the same without it.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace gated::detail {

/// The most bytes to which stb may grow a block of memory in this thread; beyond it, stb reports exhausted memory. Set before
/// decoding, because a small PNG file can decompress to gigabytes.
inline thread_local std::uint64_t largest_growth = 0;

inline void* limited_realloc(void* memory, std::size_t size) {
  return size <= largest_growth ? std::realloc(memory, size) : nullptr;
}

}  // namespace gated::detail

#if defined(STBI_INCLUDE_STB_IMAGE_H)
#define GATED_STB_READER_WAS_INCLUDED
#undef STBI_INCLUDE_STB_IMAGE_H
#endif
#if defined(INCLUDE_STB_IMAGE_WRITE_H)
#define GATED_STB_WRITER_WAS_INCLUDED
#undef INCLUDE_STB_IMAGE_WRITE_H
#endif
// Saves the macros of a program's own stb. The end of this header restores them.
// clang-format off
#define GATED_EACH_STB_MACRO(ACT)                                                                                                 \
  ACT(STBIDEF) ACT(STBI_ASSERT) ACT(STB_IMAGE_STATIC) ACT(STB_IMAGE_IMPLEMENTATION) ACT(STBI_NO_STDIO) ACT(STBI_NO_SIMD)          \
  ACT(STBI_NO_LINEAR) ACT(STBI_ONLY_JPEG) ACT(STBI_ONLY_PNG) ACT(STBI_NO_BMP) ACT(STBI_NO_GIF) ACT(STBI_NO_HDR)                   \
  ACT(STBI_NO_JPEG) ACT(STBI_NO_PIC) ACT(STBI_NO_PNG) ACT(STBI_NO_PNM) ACT(STBI_NO_PSD) ACT(STBI_NO_TGA) ACT(STBI_NO_ZLIB)        \
  ACT(STBI_SUPPORT_ZLIB) ACT(STBI_MALLOC) ACT(STBI_REALLOC) ACT(STBI_REALLOC_SIZED) ACT(STBI_FREE) ACT(STBI_MAX_DIMENSIONS)       \
  ACT(STBI_NO_FAILURE_STRINGS) ACT(STBI_FAILURE_USERMSG) ACT(STBI_SSE2) ACT(STBI_NEON) ACT(stbi__err) ACT(STBIWDEF)               \
  ACT(STBIW_ASSERT) ACT(STB_IMAGE_WRITE_STATIC) ACT(STB_IMAGE_WRITE_IMPLEMENTATION) ACT(STBI_WRITE_NO_STDIO) ACT(STBIW_MALLOC)    \
  ACT(STBIW_REALLOC) ACT(STBIW_REALLOC_SIZED) ACT(STBIW_FREE) ACT(STBIW_MEMMOVE) ACT(STBIW_ZLIB_COMPRESS) ACT(STBIW_CRC32)
// clang-format on
#define GATED_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define GATED_PUSH_MACRO(name) GATED_PRAGMA(push_macro(#name))
#define GATED_POP_MACRO(name) GATED_PRAGMA(pop_macro(#name))
GATED_EACH_STB_MACRO(GATED_PUSH_MACRO)
#undef STBIDEF
#undef STBI_ASSERT
#undef STB_IMAGE_STATIC
#undef STB_IMAGE_IMPLEMENTATION
#undef STBI_NO_STDIO
#undef STBI_NO_SIMD
#undef STBI_NO_LINEAR
#undef STBI_ONLY_JPEG
#undef STBI_ONLY_PNG
#undef STBI_NO_BMP
#undef STBI_NO_GIF
#undef STBI_NO_HDR
#undef STBI_NO_JPEG
#undef STBI_NO_PIC
#undef STBI_NO_PNG
#undef STBI_NO_PNM
#undef STBI_NO_PSD
#undef STBI_NO_TGA
#undef STBI_NO_ZLIB
#undef STBI_SUPPORT_ZLIB
#undef STBI_MALLOC
#undef STBI_REALLOC
#undef STBI_REALLOC_SIZED
#undef STBI_FREE
#undef STBI_MAX_DIMENSIONS
#undef STBI_NO_FAILURE_STRINGS
#undef STBI_FAILURE_USERMSG
#undef STBI_SSE2
#undef STBI_NEON
#undef stbi__err
#undef STBIWDEF
#undef STBIW_ASSERT
#undef STB_IMAGE_WRITE_STATIC
#undef STB_IMAGE_WRITE_IMPLEMENTATION
#undef STBI_WRITE_NO_STDIO
#undef STBIW_MALLOC
#undef STBIW_REALLOC
#undef STBIW_REALLOC_SIZED
#undef STBIW_FREE
#undef STBIW_MEMMOVE
#undef STBIW_ZLIB_COMPRESS
#undef STBIW_CRC32
#define STBIDEF [[maybe_unused]] static
#define STBI_ASSERT(condition) static_cast<void>(0)
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_SIMD
#define STBI_NO_LINEAR
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
// Zeroes the memory, because for a damaged PNG file the decoder returns memory that it has not written.
#define STBI_MALLOC(size) ::std::calloc(1, static_cast<::std::size_t>(size))
#define STBI_REALLOC(memory, size) ::gated::detail::limited_realloc(memory, static_cast<::std::size_t>(size))
#define STBI_FREE(memory) ::std::free(memory)
#define STBIWDEF [[maybe_unused]] static
#define STBIW_ASSERT(condition) static_cast<void>(0)
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wuseless-cast"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
namespace gated::detail::stb {
#if __has_include(<stb/stb_image.h>)
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#else
#include <stb_image.h>
#include <stb_image_write.h>
#endif
}  // namespace gated::detail::stb
#undef stbi__err  // a second copy of stb defines a function with this name
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

GATED_EACH_STB_MACRO(GATED_POP_MACRO)
#undef GATED_EACH_STB_MACRO
#undef GATED_PUSH_MACRO
#undef GATED_POP_MACRO
#undef GATED_PRAGMA
#if defined(GATED_STB_READER_WAS_INCLUDED)
#undef GATED_STB_READER_WAS_INCLUDED
#else
#undef STBI_INCLUDE_STB_IMAGE_H
#endif
#if defined(GATED_STB_WRITER_WAS_INCLUDED)
#undef GATED_STB_WRITER_WAS_INCLUDED
#else
#undef INCLUDE_STB_IMAGE_WRITE_H
#endif
