#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "gated/io/atomic_file.hpp"
#include "gated/io/image_pixels.hpp"

/// @file
/// Pictures as PNG files.

// The encoder is compiled into each translation unit that includes this header, inside our namespace, so that it meets neither
// another copy of itself nor a program's own stb. All that it includes stands here first, outside the namespace.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(INCLUDE_STB_IMAGE_WRITE_H)
#define GATED_STB_WAS_INCLUDED
#undef INCLUDE_STB_IMAGE_WRITE_H
#endif
#pragma push_macro("STBIWDEF")
#pragma push_macro("STBIW_ASSERT")
#pragma push_macro("STB_IMAGE_WRITE_STATIC")
#pragma push_macro("STB_IMAGE_WRITE_IMPLEMENTATION")
#pragma push_macro("STBI_WRITE_NO_STDIO")
#pragma push_macro("STBIW_MALLOC")
#pragma push_macro("STBIW_REALLOC")
#pragma push_macro("STBIW_REALLOC_SIZED")
#pragma push_macro("STBIW_FREE")
#pragma push_macro("STBIW_MEMMOVE")
#pragma push_macro("STBIW_ZLIB_COMPRESS")
#pragma push_macro("STBIW_CRC32")
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
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
namespace gated::detail::stb {
#if __has_include(<stb/stb_image_write.h>)
#include <stb/stb_image_write.h>
#else
#include <stb_image_write.h>
#endif
}  // namespace gated::detail::stb
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#pragma pop_macro("STBIW_CRC32")
#pragma pop_macro("STBIW_ZLIB_COMPRESS")
#pragma pop_macro("STBIW_MEMMOVE")
#pragma pop_macro("STBIW_FREE")
#pragma pop_macro("STBIW_REALLOC_SIZED")
#pragma pop_macro("STBIW_REALLOC")
#pragma pop_macro("STBIW_MALLOC")
#pragma pop_macro("STBI_WRITE_NO_STDIO")
#pragma pop_macro("STB_IMAGE_WRITE_IMPLEMENTATION")
#pragma pop_macro("STB_IMAGE_WRITE_STATIC")
#pragma pop_macro("STBIW_ASSERT")
#pragma pop_macro("STBIWDEF")
#if defined(GATED_STB_WAS_INCLUDED)
#undef GATED_STB_WAS_INCLUDED
#else
#undef INCLUDE_STB_IMAGE_WRITE_H
#endif

namespace gated {

/// `image` as the bytes of a PNG file.
/// Errors: those of expect_image().
/// Cost: one compression, and about three copies of the pixels in memory.
inline std::vector<std::byte> encode_png(const Image& image) {
  expect_image("encode_png", image);
  int length = 0;
  unsigned char* const encoded = detail::stb::stbi_write_png_to_mem(
      image.pixels.data(), static_cast<int>(image.width * image.channels), static_cast<int>(image.width),
      static_cast<int>(image.height), static_cast<int>(image.channels), &length);
  require<Error>(encoded != nullptr, "encode_png: out of memory.");
  const auto* const bytes = reinterpret_cast<const std::byte*>(encoded);
  std::vector<std::byte> out(bytes, bytes + length);
  std::free(encoded);
  return out;
}

/// Writes `image` as a PNG file, completely or not at all (see AtomicFile).
/// Errors: those of encode_png(); FileError if the file cannot be written.
inline void write_png(const std::filesystem::path& path, const Image& image) { write_file_atomically(path, encode_png(image)); }

}  // namespace gated
