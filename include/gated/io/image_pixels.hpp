#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/core/words.hpp"

/// @file
/// Pictures in memory.

namespace gated {

/// A picture: height × width pixels of `channels` bytes, row by row from the top. 1 channel means grey, 2 grey and alpha, 3
/// RGB, 4 RGBA.
struct Image {
  Index width = 0;
  Index height = 0;
  Index channels = 1;
  std::vector<std::uint8_t> pixels = {};
};

/// The channels of a pixel in memory order.
enum class PixelOrder { grey, grey_alpha, rgb, rgba, bgr, bgra };

constexpr auto names_of(PixelOrder) { return words_for<PixelOrder>("grey", "grey_alpha", "rgb", "rgba", "bgr", "bgra"); }

/// Bytes per pixel.
constexpr Index bytes_of(PixelOrder order) {
  return order == PixelOrder::grey                              ? 1
         : order == PixelOrder::grey_alpha                      ? 2
         : order == PixelOrder::rgb || order == PixelOrder::bgr ? 3
                                                                : 4;
}

/// A view of a picture in the caller's memory, such as a camera frame.
struct PixelView {
  const std::uint8_t* data = nullptr;  ///< the upper left pixel
  Index width = 0, height = 0;
  Index stride = 0;  ///< bytes from one row to the next; negative for bottom-up pictures
  PixelOrder order = PixelOrder::rgb;
};

/// Raises ArgumentError unless `image` has at least one pixel, 1 to 4 channels and less than 1 GB. Raises ShapeError unless
/// `pixels` has width × height × channels bytes.
inline void expect_image(const char* where, const Image& image) {
  constexpr Index largest = std::numeric_limits<std::int32_t>::max() / 2;  // image codecs use int for sizes
  require<ArgumentError>(image.width >= 1 && image.height >= 1 && image.channels >= 1 && image.channels <= 4, where,
                         ": the image is ", image.width, " × ", image.height, " with ", image.channels,
                         " channels, expected at least 1 × 1 with 1 to 4 channels.");
  require<ArgumentError>(image.width < largest / 4 && image.height <= largest / (image.width * image.channels + 1), where, ": ",
                         image.width, " × ", image.height, " with ", image.channels, " channels is too large.");
  const Index expected = image.width * image.height * image.channels;
  require<ShapeError>(static_cast<Index>(image.pixels.size()) == expected, where, ": the image has ", image.pixels.size(),
                      " bytes, expected width × height × channels = ", expected, ".");
}

namespace detail {

/// Converts a row to one channel (grey) or three (RGB).
inline void convert_row(const std::uint8_t* from, Index width, PixelOrder order, Index channels, std::uint8_t* out) {
  const bool grey = order == PixelOrder::grey || order == PixelOrder::grey_alpha;
  const bool reversed = order == PixelOrder::bgr || order == PixelOrder::bgra;
  const Index step = bytes_of(order), red = reversed ? 2 : 0, green = grey ? 0 : 1, blue = grey || reversed ? 0 : 2;
  for (const std::uint8_t* const end = from + width * step; from != end; from += step) {
    if (channels == 3) {
      *out++ = from[red];
      *out++ = from[green];
      *out++ = from[blue];
    } else {
      const unsigned sum = 19595U * from[red] + 38470U * from[green] + 7471U * from[blue] + 0x8000U;
      *out++ = grey ? *from : static_cast<std::uint8_t>(sum >> 16);
    }
  }
}

}  // namespace detail

/// A view of `image`, which must outlive the view.
/// Errors: those of expect_image().
inline PixelView view_of(const Image& image) {
  expect_image("view_of", image);
  constexpr PixelOrder orders[] = {PixelOrder::grey, PixelOrder::grey_alpha, PixelOrder::rgb, PixelOrder::rgba};
  return {image.pixels.data(), image.width, image.height, image.width * image.channels, orders[image.channels - 1]};
}

/// Converts `image` to one channel (grey) or three (RGB), as Pillow's `convert("L")` and `convert("RGB")` do: alpha is dropped,
/// grey is repeated, and RGB becomes grey by (19595 R + 38470 G + 7471 B) / 2¹⁶, rounded (ITU-R BT.601).
/// Errors: ArgumentError unless `channels` is 1 or 3; those of expect_image().
inline Image with_channels(const Image& image, Index channels) {
  require<ArgumentError>(channels == 1 || channels == 3, "with_channels: channels = ", channels, ", expected 1 or 3.");
  expect_image("with_channels", image);
  const Index pixels = image.width * image.height;
  Image result{image.width, image.height, channels, std::vector<std::uint8_t>(static_cast<std::size_t>(pixels * channels))};
  detail::convert_row(image.pixels.data(), pixels, view_of(image).order, channels, result.pixels.data());
  return result;
}

}  // namespace gated
