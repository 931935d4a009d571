#pragma once

#include <cmath>

#include "gated/core/random.hpp"
#include "recipe.hpp"

namespace digits {

/// Augments an image by a random shift, rotation and scaling. Each amount is uniform between minus and plus its limit in
/// `distortion`. Interpolation is bilinear; pixels outside the image are black.
///
/// Shapes: `pixels` and `out` are 1 × (channels · height · width).
inline void distort(const gated::ConstView<float>& pixels, gated::ImageSize size, const Distortion& distortion,
                    gated::Random& random, gated::View<float> out) {
  using gated::Index;
  const auto up_to = [&](double limit) { return limit * (2 * random.uniform() - 1); };
  const double right = up_to(distortion.shift), down = up_to(distortion.shift), angle = up_to(distortion.turn);
  const double wider = 1 + up_to(distortion.scale), taller = 1 + up_to(distortion.scale);
  const double middle_x = static_cast<double>(size.width - 1) / 2, middle_y = static_cast<double>(size.height - 1) / 2;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  for (Index i = 0; i < size.area(); ++i) {
    const double u = wider * (static_cast<double>(i % size.width) - middle_x);
    const double v = taller * (static_cast<double>(i / size.width) - middle_y);
    const double x = cosine * u - sine * v + middle_x + right;
    const double y = sine * u + cosine * v + middle_y + down;
    const auto left = static_cast<Index>(std::floor(x)), top = static_cast<Index>(std::floor(y));
    const double across = x - std::floor(x), along = y - std::floor(y);
    for (Index channel = 0; channel < pixels.cols(); channel += size.area()) {
      const auto pixel = [&](Index row, Index column) {
        const bool inside = row >= 0 && column >= 0 && row < size.height && column < size.width;
        return inside ? static_cast<double>(pixels(0, channel + row * size.width + column)) : 0.0;
      };
      out(0, channel + i) =
          static_cast<float>((1 - along) * ((1 - across) * pixel(top, left) + across * pixel(top, left + 1)) +
                             along * ((1 - across) * pixel(top + 1, left) + across * pixel(top + 1, left + 1)));
    }
  }
}

}  // namespace digits
