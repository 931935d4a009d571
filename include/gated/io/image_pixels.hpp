#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "gated/core/matrix.hpp"

/// @file
/// A picture in memory. Nothing here reads or writes files.

namespace gated {

/// A picture: height × width pixels of `channels` bytes each, row by row from the top. One channel is grey, two are grey and
/// alpha, three are red, green, blue, and four add alpha.
struct Image {
  Index width = 0;
  Index height = 0;
  Index channels = 1;
  std::vector<std::uint8_t> pixels = {};
};

/// Raises ArgumentError unless `image` has pixels, 1 to 4 channels and less than 1 GB; ShapeError unless the number of bytes
/// fits the size.
inline void expect_image(const char* where, const Image& image) {
  constexpr Index largest = std::numeric_limits<std::int32_t>::max() / 2;  // codecs count in int
  require<ArgumentError>(image.width >= 1 && image.height >= 1 && image.channels >= 1 && image.channels <= 4, where,
                         ": the image is ", image.width, " × ", image.height, " with ", image.channels,
                         " channels, expected at least 1 × 1 with 1 to 4 channels.");
  require<ArgumentError>(image.width < largest / 4 && image.height <= largest / (image.width * image.channels + 1), where, ": ",
                         image.width, " × ", image.height, " with ", image.channels, " channels is too large.");
  const Index expected = image.width * image.height * image.channels;
  require<ShapeError>(static_cast<Index>(image.pixels.size()) == expected, where, ": the image has ", image.pixels.size(),
                      " bytes, expected width × height × channels = ", expected, ".");
}

/// `image` with one channel (grey) or three (red, green, blue), as Pillow's `convert("L")` and `convert("RGB")` give it: alpha
/// is dropped, grey is repeated, and grey is (19595 R + 38470 G + 7471 B) / 2¹⁶, rounded (ITU-R BT.601).
/// Errors: ArgumentError for another number of channels; those of expect_image().
inline Image with_channels(const Image& image, Index channels) {
  require<ArgumentError>(channels == 1 || channels == 3, "with_channels: channels = ", channels, ", expected 1 or 3.");
  expect_image("with_channels", image);
  const auto from = static_cast<std::size_t>(image.channels), to = static_cast<std::size_t>(channels);
  const std::size_t count = image.pixels.size() / from;
  const bool grey = from < 3;
  Image result{image.width, image.height, channels, std::vector<std::uint8_t>(count * to)};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const pixel = image.pixels.data() + i * from;
    std::uint8_t* const out = result.pixels.data() + i * to;
    if (to == 1) {
      const unsigned sum = grey ? 0 : 19595U * pixel[0] + 38470U * pixel[1] + 7471U * pixel[2] + 0x8000U;
      out[0] = grey ? pixel[0] : static_cast<std::uint8_t>(sum >> 16);
    } else {
      out[0] = pixel[0];
      out[1] = pixel[grey ? 0 : 1];
      out[2] = pixel[grey ? 0 : 2];
    }
  }
  return result;
}

}  // namespace gated
