#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "gated/core/matrix.hpp"

/// @file
/// Scales and centres drawings like the digits of MNIST.

namespace ink {

using gated::Index;

inline constexpr Index side = 28;       ///< width and height of a picture, in pixels
inline constexpr float box = 20;        ///< side of the box that the digit fills, before it is centred by its mass
inline constexpr float pen_radius = 1;  ///< in pixels

/// Maps a point p of the drawing to the picture: p · scale + (x, y).
struct Placement {
  float scale = 1, x = 0, y = 0;
};

/// The distance from the point (x, y) to the line segment between a and b.
inline float distance(float x, float y, const float* a, const float* b) {
  const float dx = b[0] - a[0], dy = b[1] - a[1], square = dx * dx + dy * dy;
  const float along = square > 0 ? std::clamp(((x - a[0]) * dx + (y - a[1]) * dy) / square, 0.0F, 1.0F) : 0;
  return std::hypot(x - a[0] - along * dx, y - a[1] - along * dy);
}

/// Draws the line segment between a and b, anti-aliased.
inline void stroke(std::span<float> picture, const float* a, const float* b) {
  constexpr float reach = pen_radius + 1;
  const auto pixel = [](float at) { return static_cast<Index>(std::clamp(at, 0.0F, static_cast<float>(side - 1))); };
  for (Index y = pixel(std::min(a[1], b[1]) - reach); y <= pixel(std::max(a[1], b[1]) + reach); ++y) {
    for (Index x = pixel(std::min(a[0], b[0]) - reach); x <= pixel(std::max(a[0], b[0]) + reach); ++x) {
      const float away = distance(static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F, a, b);
      float& value = picture[static_cast<std::size_t>(y * side + x)];
      value = std::max(value, std::clamp(pen_radius + 0.5F - away, 0.0F, 1.0F));
    }
  }
}

/// Draws strokes through `points` (x, y, x, y, …). A point of NaNs ends a stroke.
inline gated::Matrix<float> draw(std::span<const float> points, const Placement& place) {
  gated::Matrix<float> picture = gated::Matrix<float>::Zero(1, side * side);
  const std::span<float> pixels(picture.data(), static_cast<std::size_t>(picture.size()));
  float last[2] = {std::nanf(""), 0};
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    const float next[2] = {points[i] * place.scale + place.x, points[i + 1] * place.scale + place.y};
    if (!std::isnan(next[0])) {
      stroke(pixels, std::isnan(last[0]) ? next : last, next);
    }
    std::copy(next, next + 2, last);
  }
  return picture;
}

/// The drawing in MNIST's form: scaled into a box of 20 × 20 pixels, with its centre of mass in the middle of 28 × 28
/// pixels. Ink is 1 (white), paper 0. The pen's width does not depend on the drawing's size. Without points, all pixels are 0.
inline gated::Matrix<float> picture_of(std::span<const float> points) {
  constexpr float most = std::numeric_limits<float>::max();
  float low[2] = {most, most}, high[2] = {-most, -most};
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    low[i % 2] = std::isnan(points[i]) ? low[i % 2] : std::min(low[i % 2], points[i]);
    high[i % 2] = std::isnan(points[i]) ? high[i % 2] : std::max(high[i % 2], points[i]);
  }
  if (low[0] > high[0]) {
    return gated::Matrix<float>::Zero(1, side * side);
  }
  constexpr float middle = static_cast<float>(side) / 2;
  Placement place;
  place.scale = (box - 2 * pen_radius) / std::max({high[0] - low[0], high[1] - low[1], 1e-3F});
  place.x = middle - place.scale * (low[0] + high[0]) / 2;
  place.y = middle - place.scale * (low[1] + high[1]) / 2;
  const gated::Matrix<float> first = draw(points, place);
  float mass = 0, across = 0, down = 0;
  for (Index i = 0; i < first.size(); ++i) {
    mass += first.data()[i];
    across += first.data()[i] * (static_cast<float>(i % side) + 0.5F);
    down += first.data()[i] * (static_cast<float>(i / side) + 0.5F);
  }
  place.x += middle - across / mass;
  place.y += middle - down / mass;
  return draw(points, place);
}

}  // namespace ink
