#include "drawing.hpp"

#include <algorithm>
#include <cmath>

#include "common/canvas.hpp"

namespace gates {

namespace {

using examples::Box, examples::diverging, examples::draw_frame, examples::fill;
using gated::Image, gated::ImageSize, gated::Index, gated::Matrix;

constexpr auto line_colour = examples::grey, mark = examples::black;
constexpr Index margin = 16;

/// A white picture with room for width × height inside of the margin.
Image blank(Index width, Index height) { return examples::blank(width + 2 * margin, height + 2 * margin); }

/// One square of `cell` (down: `tall`) pixels per number.
template <class Values>
void draw_tile(Image& image, Index left, Index top, Index cell, Index tall, const Values& values, double full) {
  for (Index y = 0; y < values.rows(); ++y) {
    for (Index x = 0; x < values.cols(); ++x) {
      fill(image, {left + x * cell, top + y * tall, cell, tall}, diverging(static_cast<double>(values(y, x)) / full));
    }
  }
}

/// Row p of `weights` as the grid lies, with a frame around p where there is room for one.
void draw_filter(Image& image, Index left, Index top, Index cell, Index tall, const Matrix<float>& weights, ImageSize grid,
                 Index p, double full) {
  draw_tile(image, left, top, cell, tall, Eigen::Map<const Matrix<float>>(&weights(p, 0), grid.height, grid.width), full);
  if (cell >= 5) {
    draw_frame(image, {left + p % grid.width * cell, top + p / grid.width * tall, cell, tall}, mark);
  }
}

}  // namespace

float full_colour(const Matrix<float>& weights) {
  std::vector<float> sizes;
  for (const float w : weights.reshaped()) {
    if (w != 0 && std::isfinite(w)) {
      sizes.push_back(std::abs(w));
    }
  }
  if (sizes.empty()) {
    return 1;
  }
  const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(0.995 * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), place, sizes.end());
  return *place;
}

Image draw_filters(const Matrix<float>& weights, ImageSize grid, float full) {
  const Index cell = std::clamp<Index>(96 / std::max(grid.height, grid.width), 2, 8), line = 3;
  const Index tile_width = grid.width * cell + line, tile_height = grid.height * cell + line;
  const Box panel{margin, margin, grid.width * tile_width + line, grid.height * tile_height + line};
  const Matrix<double> mean = gated::mean_filter<float>(weights, grid, 2 * std::max(grid.height, grid.width) - 1);
  const Index large = std::max<Index>(panel.height / (2 * std::max(mean.rows(), mean.cols())), 2);
  const Box side{panel.left + panel.width + margin, margin, mean.cols() * large + 2, mean.rows() * large + 2};

  Image image = blank(side.left + side.width - margin, std::max(panel.height, side.height));
  fill(image, panel, line_colour);
  for (Index p = 0; p < grid.area(); ++p) {
    draw_filter(image, panel.left + line + p % grid.width * tile_width, panel.top + line + p / grid.width * tile_height, cell,
                cell, weights, grid, p, static_cast<double>(full));
  }
  draw_tile(image, side.left + 1, side.top + 1, large, large, mean, static_cast<double>(full));
  draw_frame(image, side, line_colour);
  draw_frame(image, {side.left + 1 + mean.cols() / 2 * large, side.top + 1 + mean.rows() / 2 * large, large, large}, mark);
  return image;
}

Image draw_matrix(const Matrix<float>& weights, float full) {
  const Index n = weights.rows(), cell = std::clamp<Index>(768 / n, 1, 24), plot = 160;
  const Box panel{margin, margin, n * cell + 2, n * cell + 2},
      below{margin, panel.top + panel.height + margin, panel.width, plot};
  Image image = blank(panel.width, panel.height + margin + plot);
  draw_frame(image, panel, line_colour);
  draw_tile(image, panel.left + 1, panel.top + 1, cell, cell, weights, static_cast<double>(full));

  const Matrix<double> mean = gated::mean_filter<float>(weights, {1, n}, n - 1 + n % 2);  // as wide as the matrix above it
  const double highest = std::max(mean.cwiseAbs().maxCoeff(), 1e-30);
  const Index middle = below.top + plot / 2;
  for (Index i = 0; i < mean.cols(); ++i) {
    const auto height = static_cast<Index>(std::lround(std::abs(mean(0, i)) / highest * static_cast<double>(plot / 2 - 2)));
    const Index left = below.left + 1 + i * cell;
    fill(image, {left, mean(0, i) > 0 ? middle - height : middle, cell, height}, diverging(mean(0, i) > 0 ? 0.8 : -0.8));
  }
  fill(image, {below.left, middle, below.width, 1}, mark);
  draw_frame(image, below, line_colour);
  return image;
}

Image draw_rows(const Matrix<float>& weights, ImageSize grid, const std::vector<Index>& rows, float full) {
  for (const Index p : rows) {
    gated::require<gated::ArgumentError>(p < weights.rows(), "--rows ", p, ": expected tokens from 0 to ", weights.rows() - 1,
                                         ".");
  }
  const bool text = grid.height == 1;
  const Index cell = std::clamp<Index>((text ? 1024 : 256) / std::max(grid.height, grid.width), 1, 32), tall = text ? 24 : cell;
  const Index count = static_cast<Index>(rows.size()), across = text ? 1 : std::min<Index>(count, 4);
  const Index tile_width = grid.width * cell + 2, tile_height = grid.height * tall + 2;
  Image image = blank(across * (tile_width + margin) - margin, (count + across - 1) / across * (tile_height + margin) - margin);
  for (Index k = 0; k < count; ++k) {
    const Index left = margin + k % across * (tile_width + margin), top = margin + k / across * (tile_height + margin);
    draw_frame(image, {left, top, tile_width, tile_height}, line_colour);
    draw_filter(image, left + 1, top + 1, cell, tall, weights, grid, rows[static_cast<std::size_t>(k)],
                static_cast<double>(full));
  }
  return image;
}

}  // namespace gates
