#pragma once

#include "gated/core/parameter_budget.hpp"
#include "gated/layers/patch_embedding.hpp"
#include "gated/ops/grid_position.hpp"

/// @file
/// Learned positions in an image.

namespace gated {

/// y_t = x_t + what says where the patch of token t lies: a learned vector for each cell of a grid, between which patches of
/// another grid interpolate bilinearly, as PyTorch does without align_corners and antialiasing. A class token, which stands
/// before the patches, has a vector of its own. (ViT, arXiv:2010.11929, §3.1 and 3.2; ViT-FF, arXiv:2105.02723.)
///
/// Shapes: x and y are rows × C; y may be x. The weight is C × cells, as files have it, row by row over the grid.
/// Errors: ArgumentError when built and for a stream; ShapeError for a sequence of another number of tokens.
/// Cost: one pass over x, and four vectors per patch.
template <class T>
struct GridPosition : Layer<GridPosition<T>> {
  static constexpr const char* name = "GridPosition";

  ImageSize cells;        ///< that there are vectors for
  ImageSize patches;      ///< of the image
  Matrix<T> weight;       ///< C × cells
  Vector<T> class_token;  ///< C, or empty

  GridPosition() = default;
  /// Vectors of zero, for a checkpoint to be loaded into.
  GridPosition(Index channels, ImageSize cells_, ImageSize patches_, bool with_class_token) : cells(cells_), patches(patches_) {
    require<ArgumentError>(channels > 0 && cells.height > 0 && cells.width > 0 && patches.height > 0 && patches.width > 0, name,
                           ": channels = ", channels, ", a grid of ", cells.height, " × ", cells.width,
                           " positions and one of ", patches.height, " × ", patches.width, " patches must all be positive.");
    expect_memory<T>(name, channels, cells.area());
    weight = Matrix<T>::Zero(channels, cells.area());
    class_token = Vector<T>::Zero(with_class_token ? channels : 0);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &GridPosition::weight, Role::position, &GridPosition::weight_shape),
                      field("class_token", &GridPosition::class_token, Role::position)};
  }
  Shape weight_shape() const { return {1, weight.rows(), cells.height, cells.width}; }

  /// The tokens of an image.
  Index tokens() const { return patches.area() + (class_token.size() > 0 ? 1 : 0); }

  /// N(0, 0.02²), as embeddings.
  void initialize(Random& random) {
    fill_normal(weight, 0.02, random);
    fill_normal(class_token, 0.02, random);
  }

  Contract contract() const {
    return {.in = weight.rows(),
            .out = weight.rows(),
            .shortest = tokens(),
            .longest = tokens(),
            .remedy = class_token.size() > 0 ? " There are positions for the patches of an image and a class token."
                                             : " There are positions for the patches of an image."};
  }

  auto apply(auto& run, auto x) const { return add_grid_positions(run, std::move(x), positions()); }

 private:
  GridPositions<T> positions() const {
    return {&weight, &class_token, cells.height, cells.width, patches.height, patches.width};
  }
};

}  // namespace gated
