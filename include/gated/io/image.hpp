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
#include "gated/io/stb.hpp"

/// @file
/// Writes PNG files.

namespace gated {

/// Encodes `image` as a PNG file and returns its bytes.
/// Errors: those of expect_image().
/// Cost: one compression; memory for about three copies of the pixels.
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

/// Writes `image` as a PNG file, atomically (AtomicFile).
/// Errors: those of encode_png(); FileError if the file cannot be written.
inline void write_png(const std::filesystem::path& path, const Image& image) { write_file_atomically(path, encode_png(image)); }

}  // namespace gated
