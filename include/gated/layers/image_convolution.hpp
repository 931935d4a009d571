#pragma once

#include <cmath>

#include "gated/core/random.hpp"
#include "gated/layers/patch_embedding.hpp"
#include "gated/ops/image_convolution.hpp"

/// @file
/// Convolution of images into feature maps.

namespace gated {

/// Convolves images of C channels into M maps of the same size: stride 1, a k × k kernel with odd k, zero padding. Suited to
/// small images with many channels, such as the feature maps of a backbone: see convolve_images().
///
/// Shapes: images is B × (C · height · width), one row per image in NCHW order, as in NumPy and PyTorch; y is (B · M) × (height
/// · width), one row per map. weight is M × (C · k · k), the flattened kernel.
/// Errors: ArgumentError from the constructor for invalid sizes; ShapeError for a wrong number of pixels.
/// Cost: 2·B·M·pixels·C·k² flops; scratch for the unfolded pixels of one image, k² times the image's size.
template <class T>
struct ImageConvolution : Layer<ImageConvolution<T>> {
  static constexpr const char* name = "ImageConvolution";

  Index channels = 0;  ///< C
  ImageSize image;
  Index kernel = 1;  ///< k
  Matrix<T> weight;  ///< M × (C · k · k)
  Vector<T> bias;    ///< M

  ImageConvolution() = default;
  ImageConvolution(Index image_channels, ImageSize image_size, Index maps, Index kernel_size)
      : channels(image_channels), image(image_size), kernel(kernel_size) {
    require<ArgumentError>(channels > 0 && maps > 0 && image.height > 0 && image.width > 0, "ImageConvolution: ", channels,
                           " channels, image ", image.height, " × ", image.width, ", ", maps, " maps must all be positive.");
    require<ArgumentError>(kernel > 0 && kernel % 2 == 1, "ImageConvolution: kernel = ", kernel,
                           ", expected an odd number: an even kernel has no centre.");
    require<ArgumentError>(Count(image.height) * image.width * channels * kernel * kernel * Index{sizeof(T)} != Count::most,
                           "ImageConvolution: an image of ", image.height, " × ", image.width, " pixels in ", channels,
                           " channels is too large.");
    weight = unset_weight<T>(maps, Count(channels) * kernel * kernel, name);
    bias = filled_vector<T>(T{0}, maps, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &ImageConvolution::weight, Role::weight, &ImageConvolution::kernel_shape),
                  field("bias", &ImageConvolution::bias, Role::bias));
  }

  /// The weight's shape as a convolution kernel.
  Shape kernel_shape() const { return {weight.rows(), channels, kernel, kernel}; }

  /// LeCun-normal weight (variance 1 / fan-in) and zero bias.
  void initialize(Random& random) {
    fill_normal(weight, 1.0 / std::sqrt(static_cast<double>(weight.cols())), random);
    bias.setZero();
  }

  Contract contract() const {
    return {.in = channels * image.area(),
            .out = image.area(),
            .rows = weight.size() > 0 ? weight.rows() : 1,
            .sees = Sees::itself,
            .in_note = "channels × height × width, one row per image; resize or crop the image first",
            .unstreamable = "An image is not a sequence. Use forward()."};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> images) const {
    expect_whole(name, weight.size() > 0);
    expect_set(run, "weight", weight);
    return convolve_images(run, images, weight, bias,
                           {.channels = channels, .height = image.height, .width = image.width, .kernel = kernel});
  }
};

}  // namespace gated
