#pragma once

#include <algorithm>
#include <cmath>

#include "gated/layers/patch_embedding.hpp"
#include "gated/layers/spatial_projection.hpp"

/// @file
/// Analysis of spatial weights: how similar the filters of different tokens are, and how local each filter is.
///
/// All functions take a grid of tokens, such as an image's patches; a sequence is a grid of one row. The filter of token p is
/// row p of W as a function of the offset Δ: W[p, p + Δ]. A *window* of odd size w contains the offsets up to (w - 1) / 2 in
/// each direction. Entries outside the grid are ignored.

namespace gated {

/// The weight of one head between the patches of `grid`, patches × patches, with the causal mask and position scales applied.
///
/// Other tokens, such as a class token, precede the patches and are skipped.
/// Errors: ArgumentError for an invalid head, and for a projection with `outputs`; ShapeError if the grid is empty or has more
/// patches than the projection has tokens.
/// Cost: N² elements, where N is the number of tokens of the projection.
template <class T>
Matrix<T> patch_weight(const SpatialProjection<T>& projection, Index head, ImageSize grid) {
  require<ArgumentError>(head >= 0 && head < projection.config.heads, "patch_weight: head = ", head, ", expected 0 … ",
                         projection.config.heads - 1, ".");
  projection.expect_square("patch_weight");
  require<ShapeError>(grid.height > 0 && grid.width > 0 && grid.area() <= projection.config.length,
                      "patch_weight: the grid is ", grid.height, " × ", grid.width, ", expected 1 to ",
                      projection.config.length, " patches, the length of the projection.");
  return projection.effective_weight(head, projection.config.length).bottomRightCorner(grid.area(), grid.area());
}

namespace detail {

/// The offsets of a window, and a loop over the entries of W at these offsets.
struct Window {
  ImageSize grid;
  Index down, across;  ///< the largest offsets that fit both the window and the grid

  template <class T>
  Window(const char* where, const ConstView<T>& w, ImageSize grid_, Index size) : grid(grid_) {
    require<ShapeError>(w.rows() == w.cols() && w.rows() == grid.area() && grid.height > 0 && grid.width > 0, where, ": w is ",
                        w.rows(), " × ", w.cols(), ", expected patches × patches for a grid of ", grid.height, " × ",
                        grid.width, ". Use patch_weight().");
    require<ArgumentError>(size > 0 && size % 2 == 1, where, ": window = ", size,
                           ", expected a positive odd number: it is centred on a token.");
    down = std::min((size - 1) / 2, grid.height - 1);
    across = std::min((size - 1) / 2, grid.width - 1);
  }

  /// Calls visit(Δy, Δx, W[p, p + Δ]) for all patches p and offsets Δ of the window, offset by offset.
  template <class T, class Visit>
  void for_each(const ConstView<T>& w, const Visit& visit) const {
    for (Index dy = -down; dy <= down; ++dy) {
      for (Index dx = -across; dx <= across; ++dx) {
        for (Index y = std::max(-dy, Index{0}); y < grid.height - std::max(dy, Index{0}); ++y) {
          for (Index x = std::max(-dx, Index{0}); x < grid.width - std::max(dx, Index{0}); ++x) {
            visit(dy, dx, static_cast<double>(w(y * grid.width + x, (y + dy) * grid.width + x + dx)));
          }
        }
      }
    }
  }
};

}  // namespace detail

/// The mean filter of all tokens: m_Δ = mean of W[p, p + Δ] over all p for which p + Δ is in the grid.
///
/// Shapes: `w` is patches × patches; the result is (2·down + 1) × (2·across + 1), a row per Δy and a column per Δx, with offset
/// 0 in the middle. `down` and `across` are the largest offsets that fit both the window and the grid.
/// Errors: ShapeError for a `w` of another shape, ArgumentError unless `window` is positive and odd.
/// Cost: patches × window².
template <class T>
Matrix<double> mean_filter(ConstView<T> w, ImageSize grid, Index window) {
  const detail::Window offsets("mean_filter", w, grid, window);
  Matrix<double> mean = Matrix<double>::Zero(2 * offsets.down + 1, 2 * offsets.across + 1);
  Matrix<double> first = mean, count = mean;
  // Sums differences from the first value, so the mean of equal values is exact.
  offsets.for_each(w, [&](Index dy, Index dx, double value) {
    const Index row = dy + offsets.down, column = dx + offsets.across;
    first(row, column) = count(row, column) == 0 ? value : first(row, column);
    mean(row, column) += value - first(row, column);
    count(row, column) += 1;
  });
  for (Index i = 0; i < mean.size(); ++i) {
    mean.data()[i] = first.data()[i] + mean.data()[i] / count.data()[i];
  }
  return mean;
}

/// How far W is from translation invariance inside a window: Σ |W[p, p + Δ] - m_Δ| / Σ |W[p, p + Δ]| with m = mean_filter().
///
/// Both sums run over all p and all Δ in the window; 0 / 0 is 0. The error is exactly 0 for a Toeplitz weight (in two
/// dimensions: block-Toeplitz) and about 1 or more for unrelated filters. The authors of gMLP report such an error for the last
/// layer of gMLP-base, without a formula: 1.4, 2.4, 7.0, 14 and 18 % for windows of 5, 9, 17, 33 and 65 (discussion of
/// arXiv:2105.08050 on OpenReview).
/// Shapes, errors and cost: those of mean_filter().
template <class T>
double toeplitz_error(ConstView<T> w, ImageSize grid, Index window) {
  const detail::Window offsets("toeplitz_error", w, grid, window);
  const Matrix<double> mean = mean_filter<T>(w, grid, window);
  double difference = 0, size = 0;
  offsets.for_each(w, [&](Index dy, Index dx, double value) {
    difference += std::abs(value - mean(dy + offsets.down, dx + offsets.across));
    size += std::abs(value);
  });
  return size == 0 ? 0 : difference / size;
}

/// Overload for one head of a projection over the patches of `grid`.
/// Errors: those of mean_filter() and patch_weight().
template <class T>
double toeplitz_error(const SpatialProjection<T>& projection, Index head, Index window, ImageSize grid) {
  return toeplitz_error<T>(patch_weight(projection, head, grid), grid, window);
}
/// Overload for one head of a projection over the tokens of a text.
template <class T>
double toeplitz_error(const SpatialProjection<T>& projection, Index head, Index window) {
  return toeplitz_error(projection, head, window, ImageSize{1, projection.config.length});
}

/// The share of Σ W² that lies in the windows around the tokens: 1 if no filter reaches beyond its window; 0 / 0 is 0.
/// Shapes and errors: those of mean_filter().
/// Cost: patches².
template <class T>
double energy_share(ConstView<T> w, ImageSize grid, Index window) {
  double inside = 0;
  detail::Window("energy_share", w, grid, window).for_each(w, [&](Index, Index, double value) { inside += value * value; });
  const double all = w.template cast<double>().squaredNorm();
  return all == 0 ? 0 : inside / all;
}

}  // namespace gated
