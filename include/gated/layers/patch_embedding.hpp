#pragma once

#include <algorithm>
#include <cmath>

#include "gated/core/count.hpp"
#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Patch embedding: images to tokens.

namespace gated {

/// Height and width, in pixels or in patches.
struct ImageSize {
  Index height = 0, width = 0;

  template <class C = ImageSize>
  static constexpr auto fields() {
    return Fields(setting("height", &C::height), setting("width", &C::width));
  }

  Index area() const { return height * width; }
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// Cuts images into patches and projects each to a token: a convolution with stride = kernel size (ViT, arXiv:2010.11929,
/// §3.1). If the patches do not tile the image, the remaining pixels below and on the right are not read.
///
/// Shapes: images is B × (channels · height · width), one row per image in NCHW order, as in NumPy and PyTorch; tokens is (B ·
/// patches) × C, patches in row-major order. weight is C × (channels · patch height · patch width), the flattened
/// convolution kernel.
/// Errors: ShapeError for a wrong number of pixels; ArgumentError from the constructor if a patch is larger than the image.
/// Cost: 2·B·(channels · height · width)·C flops and one copy of the images. The backward pass needs as many flops as the
/// forward pass, or twice as many if the images need a gradient.
template <class T>
struct PatchEmbedding : Layer<PatchEmbedding<T>> {
  static constexpr const char* name = "PatchEmbedding";

  Index channels = 0;  ///< channels of the image
  ImageSize image, patch;
  Matrix<T> weight;  ///< C × (channels · patch.height · patch.width)
  Vector<T> bias;    ///< C

  PatchEmbedding() = default;
  PatchEmbedding(Index image_channels, ImageSize image_size, ImageSize patch_size, Index out)
      : channels(image_channels), image(image_size), patch(patch_size) {
    require<ArgumentError>(
        image_channels > 0 && out > 0 && image.height > 0 && image.width > 0 && patch.height > 0 && patch.width > 0,
        "PatchEmbedding: ", image_channels, " channels, image ", image.height, " × ", image.width, ", patch ", patch.height,
        " × ", patch.width, ", ", out, " output channels must all be positive.");
    require<ArgumentError>(grid().area() > 0, "PatchEmbedding: an image of ", image.height, " × ", image.width,
                           " pixels is smaller than a patch of ", patch.height, " × ", patch.width, ".");
    require<ArgumentError>(Count(channels) * image.height * image.width != Count::most, "PatchEmbedding: an image of ",
                           image.height, " × ", image.width, " pixels in ", channels, " channels is too large.");
    weight = unset_weight<T>(out, Count(channels) * patch.area(), name);
    bias = filled_vector<T>(T{0}, out, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &PatchEmbedding::weight, Role::weight, &PatchEmbedding::kernel_shape),
                  field("bias", &PatchEmbedding::bias, Role::bias));
  }

  /// The weight's shape as a convolution kernel.
  Shape kernel_shape() const { return {weight.rows(), channels, patch.height, patch.width}; }

  /// Number of patches, vertically and horizontally.
  ImageSize grid() const { return {image.height / patch.height, image.width / patch.width}; }
  Index pixels() const { return channels * image.area(); }

  /// LeCun-normal weight (variance 1 / fan-in) and zero bias.
  void initialize(Random& random) {
    fill_normal(weight, 1.0 / std::sqrt(static_cast<double>(weight.cols())), random);
    bias.setZero();
  }

  /// Copies the pixels of each patch into one row of `patches`: (B · patches) × (channels · patch height · patch width).
  void cut(const ConstView<T>& images, View<T> patches, const Workspace<T>& workspace) const {
    for_each_line(images.rows(), workspace, [&](Index b, Index pixel, Index row, Index column) {
      std::copy_n(&images.coeffRef(b, pixel), patch.width, &patches.coeffRef(row, column));
    });
  }

  /// Calls `f(image, first pixel, patch, offset in the patch)` for each line of patch.width pixels in each patch of each image;
  /// `patch` counts across all images.
  template <class F>
  void for_each_line(Index images, const Workspace<T>& workspace, const F& f) const {
    parallel_for(workspace.threads(), images * grid().height, [&](Index task, Index) {
      const Index b = task / grid().height, down = task % grid().height;
      for (Index across = 0; across < grid().width; ++across) {
        const Index row = (b * grid().height + down) * grid().width + across;
        for (Index line = 0; line < channels * patch.height; ++line) {
          const Index channel = line / patch.height, y = down * patch.height + line % patch.height;
          f(b, (channel * image.height + y) * image.width + across * patch.width, row, line * patch.width);
        }
      }
    });
  }

  Contract contract() const {
    return {.in = pixels(),
            .out = weight.rows(),
            .rows = weight.size() > 0 ? grid().area() : 1,
            .sees = Sees::itself,
            .in_note =
                "channels × height × width, one row per image; resize or crop the image first, or convert the model with "
                "resize_grid()",
            .unstreamable = "An image is not a sequence. Use forward()."};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> images) const {
    expect_whole(name, weight.size() > 0);
    expect_set(run, "weight", weight);
    const auto tokens = run.make(run.rows(images) * grid().area(), weight.rows());
    const Index rows = run.rows(tokens), columns = weight.cols();
    const MatrixView<T> patches(run.take(rows * columns), rows, columns, columns);
    cut(run[images], patches, run.workspace());
    matmul(patches, quantizable(transposed(weight)), run[tokens], run.workspace(), {.bias = bias.data()});
    if constexpr (Run::records) {
      run.push([this, images, tokens, patches](auto& back) {
        Workspace<T>& workspace = back.workspace();
        const ConstView<T> dy = back.gradient(tokens);
        add_parameter_product(back, weight, transposed(dy), patches);
        if (T* const sums = back.gradient_of(bias.data())) {
          add_column_sums<T>(dy, sums, workspace);
        }
        if (back.wants_gradient(images)) {
          const auto frame = workspace.frame();
          MatrixMap<T> gradients = workspace.matrix(dy.rows(), weight.cols());
          matmul(dy, weight, gradients, workspace);
          auto [target, is_fresh] = back.target(images);
          if (is_fresh) {
            target.setZero();  // the patches need not read all pixels
          }
          for_each_line(target.rows(), workspace, [&, &dx = target](Index b, Index pixel, Index row, Index column) {
            dx.row(b).segment(pixel, patch.width) += gradients.row(row).segment(column, patch.width);
          });
        }
      });
    }
    return tokens;
  }
};

}  // namespace gated
