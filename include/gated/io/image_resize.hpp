#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gated/io/image_pixels.hpp"

/// @file
/// Another size for a picture, and parts of it: the same pixels as Pillow.

namespace gated {

namespace detail {

/// What one output pixel takes along one axis: `weights` of the input pixels from `first` on, in units of 2⁻²².
struct ResizeTaps {
  Index first;
  std::vector<std::int32_t> weights;
};

inline constexpr int resize_bits = 22;

/// Keys' cubic convolution kernel with a = -1/2 (IEEE Trans. ASSP 29(6), 1981).
inline double cubic_kernel(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/// The taps of `out` pixels made from `in`. When the picture shrinks the kernel is stretched, so that it averages.
inline std::vector<ResizeTaps> bicubic_taps(Index in, Index out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out), stretch = std::max(scale, 1.0),
               squeeze = 1 / stretch;
  const double support = 2 * stretch;
  std::vector<ResizeTaps> taps(static_cast<std::size_t>(out));
  std::vector<double> exact;
  for (Index i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const Index first = std::max<Index>(static_cast<Index>(centre - support + 0.5), 0);
    const Index last = std::min<Index>(static_cast<Index>(centre + support + 0.5), in);
    exact.clear();
    double sum = 0;
    for (Index j = first; j < last; ++j) {
      exact.push_back(cubic_kernel((static_cast<double>(j) - centre + 0.5) * squeeze));
      sum += exact.back();
    }
    ResizeTaps& tap = taps[static_cast<std::size_t>(i)];
    tap.first = first;
    for (const double weight : exact) {
      tap.weights.push_back(static_cast<std::int32_t>(std::lround(weight / sum * (1 << resize_bits))));
    }
  }
  return taps;
}

/// Rounds a sum of bytes times weights to a byte. The half is in the sum already.
inline std::uint8_t byte_from(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp<std::int32_t>(sum >> resize_bits, 0, 255));
}

inline constexpr std::int32_t resize_half = std::int32_t{1} << (resize_bits - 1);

inline Image resize_width(const Image& image, Index width) {
  const auto taps = bicubic_taps(image.width, width);
  const Index channels = image.channels;
  Image result{width, image.height, channels};
  result.pixels.resize(static_cast<std::size_t>(width * image.height * channels));
  std::uint8_t* out = result.pixels.data();
  for (Index y = 0; y < image.height; ++y) {
    const std::uint8_t* const row = image.pixels.data() + y * image.width * channels;
    for (const ResizeTaps& tap : taps) {
      for (Index c = 0; c < channels; ++c) {
        std::int32_t sum = resize_half;
        const std::uint8_t* from = row + tap.first * channels + c;
        for (const std::int32_t weight : tap.weights) {
          sum += *from * weight;
          from += channels;
        }
        *out++ = byte_from(sum);
      }
    }
  }
  return result;
}

inline Image resize_height(const Image& image, Index height) {
  const auto taps = bicubic_taps(image.height, height);
  const Index bytes = image.width * image.channels;  // of a row
  Image result{image.width, height, image.channels};
  result.pixels.resize(static_cast<std::size_t>(height * bytes));
  std::vector<std::int32_t> sums(static_cast<std::size_t>(bytes));
  std::uint8_t* out = result.pixels.data();
  for (const ResizeTaps& tap : taps) {
    std::fill(sums.begin(), sums.end(), resize_half);
    const std::uint8_t* from = image.pixels.data() + tap.first * bytes;
    for (const std::int32_t weight : tap.weights) {
      for (std::int32_t& sum : sums) {
        sum += *from++ * weight;
      }
    }
    out = std::transform(sums.begin(), sums.end(), out, byte_from);
  }
  return result;
}

}  // namespace detail

/// `image` with width × height pixels, by bicubic convolution with antialiasing: the pixels of Pillow's
/// `image.resize((width, height), Image.Resampling.BICUBIC)`, which is what timm and torchvision evaluate models with.
///
/// Along each axis an output pixel i is Σ_j w(j) x(j) / Σ_j w(j) with w(j) = k((j + ½ - (i + ½) s) / max(s, 1)), where s is
/// input pixels / output pixels and k the cubic kernel with a = -½. As in Pillow the width comes first, weights are multiples
/// of 2⁻²², and both passes round to bytes. Each channel is resized alone, so drop alpha before (with_channels()).
/// Errors: ArgumentError for a size below 1 or of 1 GB and more; those of expect_image().
/// Cost: 4 · max(s, 1) multiply-adds a pixel and pass, on one thread.
inline Image resize_bicubic(const Image& image, Index width, Index height) {
  expect_image("resize_bicubic", image);
  require<ArgumentError>(width >= 1 && height >= 1 && width <= (Index{1} << 28) && height <= (Index{1} << 28) / width,
                         "resize_bicubic: ", width, " × ", height, " pixels, expected at least 1 × 1 and at most 2²⁸ in all.");
  const bool narrower = image.width != width, lower = image.height != height;
  if (!narrower) {
    return lower ? detail::resize_height(image, height) : image;
  }
  const Image wide = detail::resize_width(image, width);
  return lower ? detail::resize_height(wide, height) : wide;
}

/// The width × height pixels of `image` whose upper left one is (left, top).
/// Errors: ArgumentError unless they lie inside; those of expect_image().
/// Cost: one copy.
inline Image crop(const Image& image, Index left, Index top, Index width, Index height) {
  expect_image("crop", image);
  require<ArgumentError>(
      left >= 0 && top >= 0 && width >= 1 && height >= 1 && width <= image.width - left && height <= image.height - top,
      "crop: ", width, " × ", height, " pixels from (", left, ", ", top, ") on do not lie inside ", image.width, " × ",
      image.height, ".");
  Image part{width, height, image.channels};
  part.pixels.reserve(static_cast<std::size_t>(width * height * image.channels));
  for (Index y = top; y < top + height; ++y) {
    const auto first = image.pixels.begin() + (y * image.width + left) * image.channels;
    part.pixels.insert(part.pixels.end(), first, first + width * image.channels);
  }
  return part;
}

}  // namespace gated
