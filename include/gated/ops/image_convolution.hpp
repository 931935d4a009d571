#pragma once

#include <algorithm>

#include "gated/core/ordered_sum.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Convolution over small images with many channels.

namespace gated {

/// The sizes of a convolution over images.
struct ImageConvolutionSizes {
  Index channels = 0;           ///< C, of the images
  Index height = 0, width = 0;  ///< H and W, in pixels
  Index kernel = 1;             ///< k, the side of the kernel; odd

  Index area() const { return height * width; }
  /// Number of values under the kernel.
  Index inputs() const { return channels * kernel * kernel; }
};

namespace detail {

/// Calls `f(from, to, count)` for each row of the kernel in `channel`, centred on `pixel`. The `count` pixels that begin at
/// index `from` of the image lie under the kernel values that begin at index `to`. Skips pixels outside the image.
template <class F>
void for_each_kernel_line(const ImageConvolutionSizes& s, Index pixel, Index channel, const F& f) {
  const Index radius = s.kernel / 2, top = pixel / s.width - radius, left = pixel % s.width - radius;
  const Index first = std::max<Index>(-left, 0), count = std::min(s.kernel, s.width - left) - first;
  const Index last = std::min(s.kernel, s.height - top);
  for (Index line = std::max<Index>(-top, 0); line < last; ++line) {
    f((channel * s.height + top + line) * s.width + left + first, (channel * s.kernel + line) * s.kernel + first, count);
  }
}

/// Copies the values under the kernel at each pixel to a row of `patches`, H·W × C·k². Values outside the image are 0.
template <class T>
void unfold_image(const T* image, const ImageConvolutionSizes& s, View<T> patches, const Workspace<T>& workspace) {
  parallel_for(workspace.threads(), s.area(), [&](Index pixel, Index) {
    T* const row = &patches.coeffRef(pixel, 0);
    std::fill_n(row, s.inputs(), T{0});
    for (Index channel = 0; channel < s.channels; ++channel) {
      for_each_kernel_line(s, pixel, channel,
                           [&](Index from, Index to, Index count) { std::copy_n(image + from, count, row + to); });
    }
  });
}

/// The backward pass of unfold_image(): adds each value in `patches` to the image value that it was copied from.
template <class T>
void fold_image(const ConstView<T>& patches, const ImageConvolutionSizes& s, T* image, const Workspace<T>& workspace) {
  parallel_for(workspace.threads(), s.channels, [&](Index channel, Index) {
    for (Index pixel = 0; pixel < s.area(); ++pixel) {
      const T* const row = &patches.coeffRef(pixel, 0);
      for_each_kernel_line(s, pixel, channel, [&](Index to, Index from, Index count) {
        for (Index i = 0; i < count; ++i) {
          image[to + i] += row[from + i];
        }
      });
    }
  });
}

/// The backward pass of convolve_images(). Unfolds the images again, one at a time.
template <class Back, class V, class T>
void convolution_backward(Back& back, V x, V y, const Matrix<T>& weight, const Vector<T>& bias,
                          const ImageConvolutionSizes& s) {
  Workspace<T>& workspace = back.workspace();
  const ConstView<T> dy = back.gradient(y);
  const Index maps = weight.rows(), images = dy.rows() / maps;
  T* const bias_gradient = back.gradient_of(bias.data());
  for (Index b = 0; b < images; ++b) {
    const auto frame = workspace.frame();
    MatrixMap<T> patches = workspace.matrix(s.area(), s.inputs());
    const ConstView<T> dy_of_image = dy.middleRows(b * maps, maps);
    if (back.gradient_of(weight.data()) != nullptr) {
      unfold_image<T>(&back[x].coeffRef(b, 0), s, patches, workspace);
      add_parameter_product(back, weight, dy_of_image, patches);
    }
    if (back.wants_gradient(x)) {
      matmul(transposed(dy_of_image), weight, patches, workspace);
      fold_image<T>(patches, s, &accumulator(back, x).coeffRef(b, 0), workspace);
    }
    for (Index map = 0; bias_gradient != nullptr && map < maps; ++map) {
      bias_gradient[map] += ordered_sum(dy_of_image.row(map));
    }
  }
}

}  // namespace detail

/// y[m, i, j] = b_m + Σ_c Σ_u Σ_v W[m, c, u, v] x[c, i + u - r, j + v - r] with r = (k - 1) / 2: a convolution of stride 1 with
/// zero padding. Unfolds the values under the kernel at each pixel into a row, and multiplies the rows by W.
///
/// Shapes: x is B × (C · H · W), a row per image; weight is M × (C · k · k); y is (B · M) × (H · W), a row per output channel.
/// Errors: ShapeError if x or the weight does not match `s`.
/// Cost: 2·B·M·H·W·C·k² flops, at most twice that backward; per thread, scratch for one image: H·W × (C·k² + M) values.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> convolve_images(Run& run, const MatrixOf<Run>& x, const Matrix<T>& weight, const Vector<T>& bias,
                              const ImageConvolutionSizes& s) {
  const Index images = run.rows(x), maps = weight.rows();
  require<ShapeError>(run.columns(x) == s.channels * s.area() && weight.cols() == s.inputs(), "convolve_images: x has ",
                      run.columns(x), " columns and the weight has ", weight.cols(), ", expected ", s.channels * s.area(),
                      " and ", s.inputs(), ".");
  const auto y = run.make(images * maps, s.area());
  const ConstView<T> from = run[x];
  View<T> to = run[y];
  const auto convolve = [&](Index b, Workspace<T>& scratch) {
    const auto frame = scratch.frame();
    MatrixMap<T> patches = scratch.matrix(s.area(), s.inputs()), pixels = scratch.matrix(s.area(), maps);
    detail::unfold_image<T>(&from.coeffRef(b, 0), s, patches, scratch);
    matmul(patches, quantizable(transposed(weight)), pixels, scratch, {.bias = bias.data()});
    to.middleRows(b * maps, maps) = pixels.transpose();
  };
  Workspace<T>& workspace = run.workspace();
  if (const Index threads = workspace.threads().count(); threads > 1 && images >= threads) {
    workspace.side_by_side(images, convolve);
  } else {
    for (Index b = 0; b < images; ++b) {
      convolve(b, workspace);
    }
  }
  if constexpr (Run::records) {
    run.push([x, y, &weight, &bias, s](auto& back) { detail::convolution_backward(back, x, y, weight, bias, s); });
  }
  return y;
}

}  // namespace gated
