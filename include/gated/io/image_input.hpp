#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gated/io/image_resize.hpp"
#include "gated/models/image_classifier.hpp"

/// @file
/// Prepares pictures for image classifiers.

namespace gated {

namespace detail {

/// The resize and centre crop that evaluation_crop() applies to a picture of size `from`.
inline ResizePlan evaluation_plan(const char* where, ImageSize from, ImageSize size, double crop_share, Index channels,
                                  Interpolation interpolation) {
  require<ArgumentError>(size.height >= 1 && size.width >= 1, where, ": the size is ", size.height, " × ", size.width,
                         ", expected at least 1 × 1.");
  require<ArgumentError>(crop_share > 0 && crop_share <= 1, where, ": crop_share = ", crop_share,
                         ", expected 0 < crop_share ≤ 1.");
  const auto target_of = [&](Index edge) { return static_cast<Index>(static_cast<double>(edge) / crop_share); };
  const Index target_width = target_of(size.width), target_height = target_of(size.height);
  // Scale so that one edge equals its target and the other is at least its target.
  ImageSize to = from;
  if (target_width == target_height) {
    const auto scaled = [&](Index longer, Index shorter) {  // in double, as Python divides: Index may be 32 bits wide
      return static_cast<Index>(static_cast<double>(target_width) * static_cast<double>(longer) / static_cast<double>(shorter));
    };
    to = from.width <= from.height ? ImageSize{scaled(from.height, from.width), target_width}
                                   : ImageSize{target_height, scaled(from.width, from.height)};
  } else {
    const double height = static_cast<double>(from.height), width = static_cast<double>(from.width);
    const double ratio = std::min(height / static_cast<double>(target_height), width / static_cast<double>(target_width));
    to = {static_cast<Index>(std::nearbyint(height / ratio)), static_cast<Index>(std::nearbyint(width / ratio))};
  }
  expect_size(where, to.width, to.height);
  // Round half to even, as Python does.
  const auto half = [](Index spare) { return static_cast<Index>(std::nearbyint(static_cast<double>(spare) / 2)); };
  return {.from = from,
          .to = to,
          .left = half(to.width - size.width),
          .top = half(to.height - size.height),
          .part = size,
          .channels = channels,
          .interpolation = interpolation};
}

}  // namespace detail

/// The evaluation transform of timm and torchvision. resize() scales the shorter edge to ⌊size / crop_share⌋ and the longer one
/// in proportion, rounded down; then a centre crop of `size` is taken.
///
/// If ⌊size / crop_share⌋ has different height and width, resize() scales the picture to the smallest size that covers it, and
/// rounds the other edge, as timm's ResizeKeepRatio does. Pass Interpolation::bilinear for timm's result: ResizeKeepRatio
/// ignores the model's interpolation.
/// Errors: ArgumentError unless 0 < crop_share ≤ 1, or if the resized picture is too large; those of expect_image().
inline Image evaluation_crop(const Image& image, ImageSize size, double crop_share = 0.875,
                             Interpolation interpolation = Interpolation::bicubic) {
  expect_image("evaluation_crop", image);
  const auto plan =
      detail::evaluation_plan("evaluation_crop", {image.height, image.width}, size, crop_share, image.channels, interpolation);
  Image part{size.width, size.height, image.channels,
             std::vector<std::uint8_t>(static_cast<std::size_t>(size.area() * image.channels))};
  Resizer().run(
      plan, [&](Index y) { return image.pixels.data() + y * image.width * image.channels; }, part.pixels.data());
  return part;
}

/// Turns pictures of any size, such as camera frames, into input rows of a classifier, as timm does for evaluation:
/// evaluation_crop(), then (pixel / 255 - mean) / deviation. The values are ordered by channel, then row, then column.
///
///     ImageInput<float> prepare(model.config);
///     Matrix<float> input(1, model.in());
///     for (;;) {
///       prepare({.data = frame.bytes, .width = 1280, .height = 720, .stride = frame.stride, .order = PixelOrder::bgr}, input);
///       model.forward(input, logits, workspace);
///     }
///
/// Channels are converted as in with_channels(): alpha is dropped, grey is repeated for RGB models, and RGB becomes grey for
/// models of one channel.
/// Errors: ArgumentError if a model of one channel has three pixel means or deviations (timm's default), if the picture is
/// empty or has more than 2²⁸ pixels, or if the stride is shorter than a row; ShapeError if `row` has the wrong shape.
/// Cost: resize() of the cropped rows and columns; no allocation if the picture has the same size as the previous one.
template <class T>
class ImageInput {
 public:
  template <class TrunkConfig>
  explicit ImageInput(const ImageClassifierConfig<TrunkConfig>& config)
      : size_(config.image),
        channels_(config.image_channels),
        crop_share_(config.crop_share),
        interpolation_(config.interpolation),
        values_(static_cast<std::size_t>(256 * channels_)),
        seen_(static_cast<std::size_t>(size_.area() * channels_)) {
    require<ArgumentError>(channels_ == 1 || channels_ == 3, "ImageInput: the model takes ", channels_,
                           " channels, expected 1 or 3.");
    detail::expect_pixel_scales("ImageInput", config);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto channel = static_cast<Index>(i / 256);
      const double pixel = static_cast<double>(i % 256) / 255.0;
      values_[i] = static_cast<T>((pixel - config.pixel_mean[channel]) / config.pixel_deviation[channel]);
    }
  }

  /// Writes the prepared `picture` to `row`, which is 1 × (channels · height · width).
  void operator()(const PixelView& picture, View<T> row) {
    constexpr const char* where = "ImageInput";
    require<ArgumentError>(picture.data != nullptr && picture.width >= 1 && picture.height >= 1, where, ": the picture is ",
                           picture.width, " × ", picture.height, ", expected at least 1 × 1 and a pointer to its pixels.");
    detail::expect_size(where, picture.width, picture.height);
    const Index area = size_.area(), bytes = picture.width * gated::bytes_of(picture.order);
    const Index widest = std::numeric_limits<Index>::max() / picture.height;  // largest stride whose row offsets fit in Index
    const bool is_stride = picture.stride >= -widest && picture.stride <= widest && std::abs(picture.stride) >= bytes;
    require<ArgumentError>(picture.height == 1 || is_stride, where, ": stride = ", picture.stride, ", expected at least the ",
                           bytes, " bytes of a row.");
    expect_shape<T>(where, "row", row, 1, channels_ * area);
    const auto plan =
        detail::evaluation_plan(where, {picture.height, picture.width}, size_, crop_share_, channels_, interpolation_);
    converted_.resize(static_cast<std::size_t>(picture.width * channels_));
    resizer_.run(
        plan,
        [&](Index y) {
          detail::convert_row(picture.data + y * picture.stride, picture.width, picture.order, channels_, converted_.data());
          return converted_.data();
        },
        seen_.data());
    for (Index c = 0; c < channels_; ++c) {
      const T* const values = values_.data() + 256 * c;
      for (Index i = 0; i < area; ++i) {
        row(0, c * area + i) = values[seen_[static_cast<std::size_t>(i * channels_ + c)]];
      }
    }
  }

  /// Writes the prepared `image` to `row`.
  void operator()(const Image& image, View<T> row) { (*this)(view_of(image), row); }

 private:
  ImageSize size_;
  Index channels_;
  double crop_share_;
  Interpolation interpolation_;
  std::vector<T> values_;                // the model's input for each byte value, per channel
  std::vector<std::uint8_t> converted_;  // one row of the picture, converted to the model's channels
  std::vector<std::uint8_t> seen_;       // the crop
  Resizer resizer_;
};

/// Prepares one picture as classifier input; see ImageInput.
///
///     const Matrix<float> logits = model.forward(image_input<float>(read_image("cat.jpg"), model.config), workspace);
template <class T, class TrunkConfig>
Matrix<T> image_input(const Image& image, const ImageClassifierConfig<TrunkConfig>& config) {
  Matrix<T> row(1, config.image_channels * config.image.area());
  ImageInput<T> prepare(config);
  prepare(image, row);
  return row;
}

}  // namespace gated
