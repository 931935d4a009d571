#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gated/io/image_pixels.hpp"
#include "gated/io/mapped_file.hpp"

/// @file
/// Pictures from JPEG and PNG files.

// The decoder is compiled into each translation unit that includes this header, inside our namespace, as the encoder is in
// image.hpp. Its vector code is left out: the pixels are the same, and it would include headers inside the namespace.
// A program may have an implementation of its own in the same unit, before or after; only g++ at -O0 takes the two for one,
// because stb declares its functions extern "C".
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(STBI_INCLUDE_STB_IMAGE_H)
#define GATED_STB_WAS_INCLUDED
#undef STBI_INCLUDE_STB_IMAGE_H
#endif
#pragma push_macro("STBIDEF")
#pragma push_macro("STBI_ASSERT")
#pragma push_macro("STB_IMAGE_STATIC")
#pragma push_macro("STB_IMAGE_IMPLEMENTATION")
#pragma push_macro("STBI_NO_STDIO")
#pragma push_macro("STBI_NO_SIMD")
#pragma push_macro("STBI_NO_LINEAR")
#pragma push_macro("STBI_ONLY_JPEG")
#pragma push_macro("STBI_ONLY_PNG")
#pragma push_macro("STBI_NO_BMP")
#pragma push_macro("STBI_NO_GIF")
#pragma push_macro("STBI_NO_HDR")
#pragma push_macro("STBI_NO_JPEG")
#pragma push_macro("STBI_NO_PIC")
#pragma push_macro("STBI_NO_PNG")
#pragma push_macro("STBI_NO_PNM")
#pragma push_macro("STBI_NO_PSD")
#pragma push_macro("STBI_NO_TGA")
#pragma push_macro("STBI_NO_ZLIB")
#pragma push_macro("STBI_SUPPORT_ZLIB")
#pragma push_macro("STBI_MALLOC")
#pragma push_macro("STBI_REALLOC")
#pragma push_macro("STBI_REALLOC_SIZED")
#pragma push_macro("STBI_FREE")
#pragma push_macro("STBI_MAX_DIMENSIONS")
#pragma push_macro("STBI_NO_FAILURE_STRINGS")
#pragma push_macro("STBI_FAILURE_USERMSG")
#pragma push_macro("STBI_SSE2")
#pragma push_macro("STBI_NEON")
#pragma push_macro("stbi__err")
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
#define STBIDEF [[maybe_unused]] static
#define STBI_ASSERT(condition) static_cast<void>(0)
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_SIMD
#define STBI_NO_LINEAR
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
// Zeros, because of a damaged PNG file the decoder shows memory that it has not written.
#define STBI_MALLOC(size) ::std::calloc(1, static_cast<::std::size_t>(size))
#define STBI_REALLOC(memory, size) ::std::realloc(memory, static_cast<::std::size_t>(size))
#define STBI_FREE(memory) ::std::free(memory)

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
#endif
namespace gated::detail::stb {
#if __has_include(<stb/stb_image.h>)
#include <stb/stb_image.h>
#else
#include <stb_image.h>
#endif
}  // namespace gated::detail::stb
#undef stbi__err  // a function and a macro of one name, which a second copy could not define again
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#pragma pop_macro("stbi__err")
#pragma pop_macro("STBI_NEON")
#pragma pop_macro("STBI_SSE2")
#pragma pop_macro("STBI_FAILURE_USERMSG")
#pragma pop_macro("STBI_NO_FAILURE_STRINGS")
#pragma pop_macro("STBI_MAX_DIMENSIONS")
#pragma pop_macro("STBI_FREE")
#pragma pop_macro("STBI_REALLOC_SIZED")
#pragma pop_macro("STBI_REALLOC")
#pragma pop_macro("STBI_MALLOC")
#pragma pop_macro("STBI_SUPPORT_ZLIB")
#pragma pop_macro("STBI_NO_ZLIB")
#pragma pop_macro("STBI_NO_TGA")
#pragma pop_macro("STBI_NO_PSD")
#pragma pop_macro("STBI_NO_PNM")
#pragma pop_macro("STBI_NO_PNG")
#pragma pop_macro("STBI_NO_PIC")
#pragma pop_macro("STBI_NO_JPEG")
#pragma pop_macro("STBI_NO_HDR")
#pragma pop_macro("STBI_NO_GIF")
#pragma pop_macro("STBI_NO_BMP")
#pragma pop_macro("STBI_ONLY_PNG")
#pragma pop_macro("STBI_ONLY_JPEG")
#pragma pop_macro("STBI_NO_LINEAR")
#pragma pop_macro("STBI_NO_SIMD")
#pragma pop_macro("STBI_NO_STDIO")
#pragma pop_macro("STB_IMAGE_IMPLEMENTATION")
#pragma pop_macro("STB_IMAGE_STATIC")
#pragma pop_macro("STBI_ASSERT")
#pragma pop_macro("STBIDEF")
#if defined(GATED_STB_WAS_INCLUDED)
#undef GATED_STB_WAS_INCLUDED
#else
#undef STBI_INCLUDE_STB_IMAGE_H
#endif

namespace gated {

namespace detail {

/// Whether a Huffman table of the JPEG file `bytes` has more than 256 codes. stb_image before 2.29 writes past its tables then.
inline bool has_oversized_huffman_table(std::span<const std::byte> bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<std::size_t>(bytes[i]) : std::size_t{0}; };
  constexpr std::size_t marker_byte = 0xFF, huffman_tables = 0xC4, end_of_image = 0xD9;
  for (std::size_t i = 0; i < bytes.size();) {
    if (at(i) != marker_byte) {
      ++i;  // the data of a scan, or what does not belong there
      continue;
    }
    while (at(i) == marker_byte) {
      ++i;
    }
    const std::size_t marker = at(i++);
    if (marker == end_of_image) {
      break;  // phones append films
    }
    if (marker < 0xC0 || (marker >= 0xD0 && marker <= 0xD8)) {
      continue;  // has no length
    }
    const std::size_t end = i + (at(i) << 8 | at(i + 1));
    if (marker == huffman_tables) {
      for (std::size_t table = i + 2; table < end;) {
        std::size_t codes = 0;
        for (std::size_t k = 1; k <= 16; ++k) {
          codes += at(table + k);
        }
        if (codes > 256) {
          return true;
        }
        table += 17 + codes;
      }
    }
    i = std::max(end, i);
  }
  return false;
}

}  // namespace detail

/// The picture in `file`, the bytes of a JPEG or PNG file, with as many channels as the file has and 8 bits each.
///
/// PNG files give the pixels of any other reader, palettes and transparency included; of 16 bits the upper 8 stay. JPEG leaves
/// a decoder some freedom: pixels differ from libjpeg's by a few levels. No picture is turned by what its EXIF data say. `name`
/// stands for the file in messages.
/// Errors: FileError for what is no such picture, is damaged, or has 1 GB and more or more pixels than a file of its size can
/// hold.
/// Cost: one decompression, on one thread.
inline Image decode_image(std::span<const std::byte> file, std::string_view name = "decode_image") {
  constexpr auto largest = static_cast<std::size_t>(std::numeric_limits<int>::max());
  require<FileError>(file.size() <= largest, name, ": ", file.size(), " bytes are too many for a picture.");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(file.data());
  const int size = static_cast<int>(file.size());
  int width = 0, height = 0, channels = 0;
  const auto refuse = [&] {
    raise<FileError>(name, ": cannot be read as a JPEG or PNG picture: ", detail::stb::stbi_failure_reason(), ".");
  };
  // Everything but PNG is looked at, because stb also takes JPEG files with further FF bytes before their first marker.
  const bool png = file.size() > 1 && bytes[0] == 0x89 && bytes[1] == 'P';
  require<FileError>(png || !detail::has_oversized_huffman_table(file), name,
                     ": cannot be read as a JPEG picture: a Huffman table has more than 256 codes.");
  if (detail::stb::stbi_info_from_memory(bytes, size, &width, &height, &channels) == 0) {
    refuse();
  }
  const auto count = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height) * 4U;
  require<FileError>(count < (std::uint64_t{1} << 30), name, ": ", width, " × ", height, " pixels are too many.");
  // A block of 64 pixels takes a JPEG file a bit at least; deflate makes a bit of 1032, which may be pixels of a PNG file.
  const std::uint64_t per_byte = png ? 8 * 1032 : 8 * 64;
  require<FileError>(count / 4 <= per_byte * file.size(), name, ": ", width, " × ", height, " pixels are more than a file of ",
                     file.size(), " bytes can hold.");
  const std::unique_ptr<unsigned char, decltype(&std::free)> pixels(
      detail::stb::stbi_load_from_memory(bytes, size, &width, &height, &channels, 0), &std::free);
  if (pixels == nullptr) {
    refuse();
  }
  Image image{width, height, channels};
  image.pixels.assign(pixels.get(), pixels.get() + image.width * image.height * image.channels);
  return image;
}

/// The picture in the JPEG or PNG file at `path`.
/// Errors: as MappedFile and decode_image() say, starting with the path.
inline Image read_image(const std::filesystem::path& path) { return decode_image(MappedFile(path).bytes(), path.string()); }

}  // namespace gated
