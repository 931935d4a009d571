#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "gated/core/rounded.hpp"
#include "gated/io/image_pixels.hpp"
#include "gated/layers/patch_embedding.hpp"
#include "gated/models/image_preparation.hpp"

/// @file
/// Resizing and cropping, with results equal to Pillow's.

namespace gated {

namespace detail {

inline constexpr int resize_bits = 22;

/// Keys' cubic convolution kernel with a = -1/2 (IEEE Trans. ASSP 29(6), 1981).
inline double cubic_kernel(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) {
    return rounded((rounded((a + 2) * x) - (a + 3)) * x * x) + 1;
  }
  return x < 2 ? (rounded((rounded((x - 5) * x) + 8) * x) - 4) * a : 0;
}

inline double triangle_kernel(double x) { return std::max(1 - std::abs(x), 0.0); }

/// Filter taps along one axis: for each output pixel, weights of consecutive input pixels in units of 2⁻²².
struct ResizeTaps {
  std::vector<Index> first;        ///< for each output pixel, the input pixel of its first tap
  std::vector<std::size_t> begin;  ///< for each output pixel, the offset of its taps in `weights`; one more entry for the end
  std::vector<std::int32_t> weights;

  std::span<const std::int32_t> of(std::size_t i) const {
    return std::span(weights).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

/// The taps of output pixels `from` … `from` + `count` - 1 when resizing `in` pixels to `out` pixels. Shrinking stretches the
/// kernel (antialiasing).
inline ResizeTaps resize_taps(Index in, Index out, Index from, Index count, Interpolation interpolation) {
  const bool cubic = interpolation == Interpolation::bicubic;
  const double scale = static_cast<double>(in) / static_cast<double>(out), stretch = std::max(scale, 1.0),
               squeeze = 1 / stretch;
  const double support = rounded((cubic ? 2 : 1) * stretch);
  ResizeTaps taps;
  taps.begin.push_back(0);
  std::vector<double> exact;
  for (Index i = from; i < from + count; ++i) {
    const double centre = rounded((static_cast<double>(i) + 0.5) * scale);
    const Index first = std::max<Index>(static_cast<Index>(centre - support + 0.5), 0);
    const Index last = std::min<Index>(static_cast<Index>(centre + support + 0.5), in);
    exact.clear();
    double sum = 0;
    for (Index j = first; j < last; ++j) {
      const double distance = (static_cast<double>(j) - centre + 0.5) * squeeze;
      exact.push_back(cubic ? cubic_kernel(distance) : triangle_kernel(distance));
      sum += exact.back();
    }
    taps.first.push_back(first);
    for (const double weight : exact) {
      taps.weights.push_back(static_cast<std::int32_t>(std::lround(weight / sum * (1 << resize_bits))));
    }
    taps.begin.push_back(taps.weights.size());
  }
  return taps;
}

/// Rounds a weighted sum to a byte. `sum` includes resize_half, for rounding.
inline std::uint8_t byte_from(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp<std::int32_t>(sum >> resize_bits, 0, 255));
}

/// Raises ArgumentError for sizes below 1 × 1 or above 2²⁸ pixels.
inline void expect_size(const char* where, Index width, Index height) {
  require<ArgumentError>(width >= 1 && height >= 1 && width <= (Index{1} << 28) && height <= (Index{1} << 28) / width, where,
                         ": ", width, " × ", height, " pixels, expected at least 1 × 1 and at most 2²⁸ in all.");
}

inline constexpr std::int32_t resize_half = std::int32_t{1} << (resize_bits - 1);

}  // namespace detail

/// A crop of a resized picture.
struct ResizePlan {
  ImageSize from, to;       ///< sizes before and after resizing
  Index left = 0, top = 0;  ///< upper left corner of the crop in the resized picture
  ImageSize part;           ///< size of the crop
  Index channels = 3;
  Interpolation interpolation = Interpolation::bicubic;

  friend bool operator==(const ResizePlan&, const ResizePlan&) = default;
};

/// Like resize(), but computes only a crop of the result.
/// Cost: no allocation if the plan has not changed.
class Resizer {
 public:
  /// Writes the pixels of the crop to `out`. `row(y)` returns input row y, with plan.channels bytes per pixel; run() calls it
  /// from the top down, at most once per row.
  template <class Row>
  void run(const ResizePlan& plan, const Row& row, std::uint8_t* out) {
    prepare(plan);
    const std::size_t bytes = sums_.size();  // bytes per row of the crop
    for (Index y = top_; y < bottom_; ++y) {
      resize_row(row(y), plan.channels, wide_.data() + static_cast<std::size_t>(y - top_) * bytes);
    }
    for (std::size_t i = 0; i < down_.first.size(); ++i) {
      std::fill(sums_.begin(), sums_.end(), detail::resize_half);
      const std::uint8_t* from = wide_.data() + static_cast<std::size_t>(down_.first[i] - top_) * bytes;
      for (const std::int32_t weight : down_.of(i)) {
        for (std::int32_t& sum : sums_) {
          sum += *from++ * weight;
        }
      }
      out = std::transform(sums_.begin(), sums_.end(), out, detail::byte_from);
    }
  }

 private:
  void prepare(const ResizePlan& plan) {
    if (plan == plan_) {
      return;
    }
    across_ = detail::resize_taps(plan.from.width, plan.to.width, plan.left, plan.part.width, plan.interpolation);
    down_ = detail::resize_taps(plan.from.height, plan.to.height, plan.top, plan.part.height, plan.interpolation);
    top_ = down_.first.front();
    bottom_ = 0;
    for (std::size_t i = 0; i < down_.first.size(); ++i) {
      bottom_ = std::max(bottom_, down_.first[i] + static_cast<Index>(down_.of(i).size()));
    }
    sums_.resize(static_cast<std::size_t>(plan.part.width * plan.channels));
    wide_.resize(sums_.size() * static_cast<std::size_t>(bottom_ - top_));
    plan_ = plan;
  }

  void resize_row(const std::uint8_t* row, Index channels, std::uint8_t* out) const {
    for (std::size_t i = 0; i < across_.first.size(); ++i) {
      for (Index c = 0; c < channels; ++c) {
        std::int32_t sum = detail::resize_half;
        const std::uint8_t* from = row + across_.first[i] * channels + c;
        for (const std::int32_t weight : across_.of(i)) {
          sum += *from * weight;
          from += channels;
        }
        *out++ = detail::byte_from(sum);
      }
    }
  }

  ResizePlan plan_;
  detail::ResizeTaps across_, down_;
  Index top_ = 0, bottom_ = 0;      // the input rows that the crop needs
  std::vector<std::uint8_t> wide_;  // these rows, resized horizontally
  std::vector<std::int32_t> sums_;  // sums of one row of the crop
};

/// Resizes `image` to width × height pixels with antialiasing. The pixels are those of Pillow's
/// `image.resize((width, height), …)` with Image.Resampling.BICUBIC or BILINEAR, which timm and torchvision use for evaluation.
///
/// Along each axis, output pixel i is Σ_j w(j) x(j) / Σ_j w(j) with w(j) = k((j + ½ - (i + ½) s) / max(s, 1)). Here s is input
/// pixels / output pixels, and k is the cubic kernel with a = -½ or, for bilinear, a triangle. As in Pillow, the horizontal
/// pass comes first, weights are multiples of 2⁻²², and both passes round to bytes. Channels are resized independently, without
/// weighting by alpha, so drop alpha first (with_channels()).
/// Errors: ArgumentError for sizes below 1 × 1 or above 2²⁸ pixels; those of expect_image().
/// Cost: in each pass, 4 · max(s, 1) multiply-adds per output byte (bilinear: 2 · max(s, 1)), single-threaded.
inline Image resize(const Image& image, Index width, Index height, Interpolation interpolation = Interpolation::bicubic) {
  expect_image("resize", image);
  detail::expect_size("resize", width, height);
  Image result{width, height, image.channels,
               std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * image.channels))};
  Resizer().run(
      {.from = {image.height, image.width},
       .to = {height, width},
       .part = {height, width},
       .channels = image.channels,
       .interpolation = interpolation},
      [&](Index y) { return image.pixels.data() + y * image.width * image.channels; }, result.pixels.data());
  return result;
}

/// The part of `image` that is width × height pixels and has its upper-left corner at (left, top).
/// Errors: ArgumentError unless the crop lies inside `image`; those of expect_image().
/// Cost: one copy.
inline Image crop(const Image& image, Index left, Index top, Index width, Index height) {
  expect_image("crop", image);
  require<ArgumentError>(
      left >= 0 && top >= 0 && width >= 1 && height >= 1 && width <= image.width - left && height <= image.height - top,
      "crop: ", width, " × ", height, " pixels at (", left, ", ", top, ") do not lie inside the image of ", image.width, " × ",
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
