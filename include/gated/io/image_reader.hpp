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

#include "gated/io/crc32.hpp"
#include "gated/io/image_pixels.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/stb.hpp"

/// @file
/// Reads JPEG and PNG files.

namespace gated {

namespace detail {

/// What the markers of a JPEG file say.
struct JpegMarkers {
  std::uint64_t scans = 0;  ///< each decodes the whole picture, even without data
  bool fits_tables = true;  ///< false if a Huffman table has more than 256 codes: stb_image before 2.29 overruns its tables
};

inline JpegMarkers read_jpeg_markers(std::span<const std::byte> bytes) {
  JpegMarkers read;
  const auto at = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<std::size_t>(bytes[i]) : std::size_t{0}; };
  constexpr std::size_t marker_byte = 0xFF, huffman_tables = 0xC4, end_of_image = 0xD9, start_of_scan = 0xDA;
  for (std::size_t i = 0; i < bytes.size();) {
    if (at(i) != marker_byte) {
      ++i;  // scan data or junk
      continue;
    }
    while (at(i) == marker_byte) {
      ++i;
    }
    const std::size_t marker = at(i++);
    if (marker == end_of_image) {
      break;  // phones append videos after this marker
    }
    if (marker < 0xC0 || (marker >= 0xD0 && marker <= 0xD8)) {
      continue;  // this marker has no length
    }
    read.scans += marker == start_of_scan ? 1 : 0;
    const std::size_t end = i + (at(i) << 8 | at(i + 1));
    if (marker == huffman_tables) {
      for (std::size_t table = i + 2; table < end;) {
        std::size_t codes = 0;
        for (std::size_t k = 1; k <= 16; ++k) {
          codes += at(table + k);
        }
        read.fits_tables = read.fits_tables && codes <= 256;
        table += 17 + codes;
      }
    }
    i = std::max(end, i);
  }
  return read;
}

/// The type of the first damaged chunk of the PNG file `bytes`; empty if there is none. A chunk is damaged if its checksum is
/// wrong, which stb does not check, or if it extends past the end of the file.
inline std::string damaged_png_chunk(std::span<const std::byte> bytes) {
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (const std::byte byte : bytes.subspan(at, 4)) {
      value = value << 8 | std::to_integer<std::uint32_t>(byte);
    }
    return value;
  };
  constexpr std::size_t signature = 8, frame = 12;  // chunk: length, type, data, CRC of type and data
  for (std::size_t at = signature; at + frame <= bytes.size();) {
    const std::size_t length = number(at);
    const std::string type(reinterpret_cast<const char*>(&bytes[at + 4]), 4);
    if (length > bytes.size() - at - frame || crc32(bytes.subspan(at + 4, 4 + length)) != number(at + 8 + length)) {
      return type;
    }
    if (type == "IEND") {
      break;
    }
    at += frame + length;
  }
  return {};
}

}  // namespace detail

/// Decodes a JPEG or PNG file in memory. The result has the file's channels, with 8 bits each.
///
/// PNG decoding is exact, palettes and transparency included; 16-bit channels keep their upper 8 bits. JPEG pixels differ from
/// libjpeg's by a few levels, which the standard permits. EXIF orientation is ignored. Error messages refer to the file as
/// `name`.
/// Errors: FileError if `file` is not a JPEG or PNG, is damaged (checksums of PNG chunks are verified), declares 2²⁸ pixels
/// or more, declares more pixels than its bytes can encode, or decodes to far more data than its pixels.
/// Cost: one decompression, single-threaded; of a JPEG file, one per scan.
inline Image decode_image(std::span<const std::byte> file, std::string_view name = "decode_image") {
  constexpr auto largest = static_cast<std::size_t>(std::numeric_limits<int>::max());
  require<FileError>(file.size() <= largest, name, ": ", file.size(), " bytes are too many for a picture.");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(file.data());
  const int size = static_cast<int>(file.size());
  int width = 0, height = 0, channels = 0;
  const auto refuse = [&] {
    raise<FileError>(name, ": cannot be read as a JPEG or PNG picture: ", detail::stb::stbi_failure_reason(), ".");
  };
  // Check all files except PNG, not only those with a JPEG signature: stb accepts extra FF bytes before the first marker.
  const bool png = file.size() > 1 && bytes[0] == 0x89 && bytes[1] == 'P';
  const auto jpeg = png ? detail::JpegMarkers() : detail::read_jpeg_markers(file);
  require<FileError>(jpeg.fits_tables, name, ": cannot be read as a JPEG picture: a Huffman table has more than 256 codes.");
  const std::string damaged = png ? detail::damaged_png_chunk(file) : std::string();
  require<FileError>(damaged.empty(), name, ": the file is damaged: chunk \"", printable(damaged),
                     "\" has a wrong checksum. Copy or download it again.");
  if (detail::stb::stbi_info_from_memory(bytes, size, &width, &height, &channels) == 0) {
    refuse();
  }
  const auto count = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  constexpr std::uint64_t most = std::uint64_t{1} << 28;  // 1 GB with four channels
  require<FileError>(count < most, name, ": the picture has ", width, " × ", height, " = ", count,
                     " pixels, expected fewer than ", most,
                     ". Scale it down or cut it into parts first, for example with ImageMagick: convert PICTURE -resize ",
                     "2048x2048 SMALL.png.");
  // JPEG needs at least one bit per block of 64 pixels. Deflate compresses at most 1032 : 1, and a PNG pixel has at least one
  // bit.
  const std::uint64_t per_byte = png ? 8 * 1032 : 8 * 64;
  require<FileError>(count <= per_byte * file.size(), name, ": ", width, " × ", height, " pixels are more than a file of ",
                     file.size(), " bytes can hold.");
  const auto padded = [](int edge) { return (static_cast<std::uint64_t>(edge) + 15) / 16 * 16; };
  constexpr std::uint64_t most_scanned = std::uint64_t{1} << 32;  // some seconds; progressive files have about ten scans
  require<FileError>(jpeg.scans * padded(width) * padded(height) <= most_scanned, name, ": ", jpeg.scans, " scans of ", count,
                     " pixels take too long to decode. Save the picture again with fewer scans.");
  // A PNG pixel has at most 8 bytes, and rows have a filter byte per pass. stb doubles its memory as it grows.
  detail::largest_growth = 2 * (8 * count + 8 * static_cast<std::uint64_t>(height) + file.size() + 4096);
  const std::unique_ptr<unsigned char, decltype(&std::free)> pixels(
      detail::stb::stbi_load_from_memory(bytes, size, &width, &height, &channels, 0), &std::free);
  if (pixels == nullptr) {
    refuse();
  }
  Image image{width, height, channels};
  image.pixels.assign(pixels.get(), pixels.get() + image.width * image.height * image.channels);
  return image;
}

/// Decodes the JPEG or PNG file at `path`.
/// Errors: those of MappedFile and decode_image(); messages start with the path.
inline Image read_image(const std::filesystem::path& path) { return decode_image(MappedFile(path).bytes(), path.string()); }

}  // namespace gated
