#pragma once

#include <cmath>
#include <cstdint>

#include "gated/io/image_resize.hpp"
#include "gated/models/gmlp_image_classifier.hpp"

/// @file
/// From a picture to what an image classifier takes.

namespace gated {

/// What the shortest edge is resized to before the crop: model size / 0.875 for timm's gMLP models.
inline constexpr double timm_crop = 0.875;

/// The part of `image` that timm and torchvision show a model of `size` pixels in evaluation: the shortest edge becomes
/// ⌊size / crop_share⌋ by resize_bicubic(), the other keeps the ratio (rounded down), and the centre is cut out.
///
/// For a size whose height and width differ, the picture is made just large enough to cover both edges divided by crop_share.
/// Errors: ArgumentError unless 0 < crop_share ≤ 1, and if the result would be too large; those of expect_image().
inline Image evaluation_crop(const Image& image, ImageSize size, double crop_share = timm_crop) {
  expect_image("evaluation_crop", image);
  require<ArgumentError>(size.height >= 1 && size.width >= 1, "evaluation_crop: the size is ", size.height, " × ", size.width,
                         ", expected at least 1 × 1.");
  require<ArgumentError>(crop_share > 0 && crop_share <= 1, "evaluation_crop: crop_share = ", crop_share,
                         ", expected 0 < crop_share ≤ 1.");
  const auto target_of = [&](Index edge) { return static_cast<Index>(static_cast<double>(edge) / crop_share); };
  const Index target_width = target_of(size.width), target_height = target_of(size.height);
  // The edge that is relatively shorter meets its target exactly.
  Index width = target_width, height = target_height;
  const auto product = [](Index a, Index b) { return std::int64_t{a} * std::int64_t{b}; };  // Index may have 32 bits
  if (product(image.width, target_height) <= product(image.height, target_width)) {
    height = static_cast<Index>(std::max<std::int64_t>(product(target_width, image.height) / image.width, target_height));
  } else {
    width = static_cast<Index>(std::max<std::int64_t>(product(target_height, image.width) / image.height, target_width));
  }
  // Half a pixel goes to the even number, as Python rounds.
  const auto half = [](Index spare) { return static_cast<Index>(std::nearbyint(static_cast<double>(spare) / 2)); };
  return crop(resize_bicubic(image, width, height), half(width - size.width), half(height - size.height), size.width,
              size.height);
}

/// Writes `image`, of the size and channels that `config` states, as one row of GmlpImageClassifier's input: channel by
/// channel, row by row, (pixel / 255 - mean) / deviation. `row` is 1 × (channels · height · width).
/// Errors: ShapeError.
template <class T>
void write_image_row(const Image& image, const GmlpImageClassifierConfig& config, View<T> row) {
  expect_image("write_image_row", image);
  require<ShapeError>(
      image.width == config.image.width && image.height == config.image.height && image.channels == config.image_channels,
      "write_image_row: the image is ", image.width, " × ", image.height, " with ", image.channels, " channels, expected ",
      config.image.width, " × ", config.image.height, " with ", config.image_channels, ". See image_input().");
  const Index area = image.width * image.height;
  expect_shape<T>("write_image_row", "row", row, 1, image.channels * area);
  for (Index c = 0; c < image.channels; ++c) {
    for (Index i = 0; i < area; ++i) {
      const double pixel = image.pixels[static_cast<std::size_t>(i * image.channels + c)] / 255.0;
      row(0, c * area + i) = static_cast<T>((pixel - config.pixel_mean) / config.pixel_deviation);
    }
  }
}

/// Any picture as one row of GmlpImageClassifier's input, prepared as timm prepares it for evaluation: with_channels(),
/// evaluation_crop(), write_image_row().
///
///     const Matrix<float> logits = model.forward(image_input<float>(read_image("cat.jpg"), model.config), workspace);
///
/// Errors: as these three say.
/// Cost: that of resize_bicubic().
template <class T>
Matrix<T> image_input(const Image& image, const GmlpImageClassifierConfig& config, double crop_share = timm_crop) {
  Matrix<T> row(1, config.image_channels * config.image.area());
  write_image_row<T>(evaluation_crop(with_channels(image, config.image_channels), config.image, crop_share), config, row);
  return row;
}

}  // namespace gated
