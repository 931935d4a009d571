#pragma once

#include "gated/core/unset.hpp"
#include "gated/layers/patch_embedding.hpp"
#include "gated/ops/grid_position.hpp"

/// @file
/// Learned position embeddings of image patches.

namespace gated {

/// y_t = x_t + p_t, where p_t is the learned position embedding of token t's patch (ViT, arXiv:2010.11929, §3.1 and 3.2;
/// ViT-FF, arXiv:2105.02723).
///
/// One vector is stored per cell of a grid. If the patch grid has a different size, the vectors are interpolated bilinearly, as
/// in PyTorch with align_corners=False and antialias=False. A class token, if present, comes first and has its own vector.
/// Shapes: x and y are rows × C. weight is C × cells, as in checkpoints, with the cells in row-major order.
/// Errors: ArgumentError for invalid sizes, or if streamed; ShapeError for a wrong number of tokens.
/// Cost: one pass over x, which reads four vectors per patch.
template <class T>
struct GridPosition : Layer<GridPosition<T>> {
  static constexpr const char* name = "GridPosition";

  ImageSize cells;        ///< size of the grid of stored vectors
  ImageSize patches;      ///< size of the patch grid of an image
  Matrix<T> weight;       ///< C × cells
  Vector<T> class_token;  ///< C, or empty

  GridPosition() = default;
  /// Sets all vectors to 0.
  GridPosition(Index channels, ImageSize cells_, ImageSize patches_, bool with_class_token) : cells(cells_), patches(patches_) {
    require<ArgumentError>(channels > 0 && cells.height > 0 && cells.width > 0 && patches.height > 0 && patches.width > 0, name,
                           ": channels = ", channels, ", a grid of ", cells.height, " × ", cells.width,
                           " positions and a grid of ", patches.height, " × ", patches.width, " patches must all be positive.");
    weight = filled_matrix<T>(T{0}, channels, cells.area(), name);
    class_token = filled_vector<T>(T{0}, with_class_token ? channels : 0, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &GridPosition::weight, Role::position, &GridPosition::weight_shape),
                  field("class_token", &GridPosition::class_token, Role::position));
  }
  Shape weight_shape() const { return {1, weight.rows(), cells.height, cells.width}; }

  /// Tokens per image.
  Index tokens() const { return patches.area() + (class_token.size() > 0 ? 1 : 0); }

  /// Draws the vectors from N(0, 0.02²), like embeddings.
  void initialize(Random& random) {
    fill_normal(weight, 0.02, random);
    fill_normal(class_token, 0.02, random);
  }

  Contract contract() const {
    return {.in = weight.rows(),
            .out = weight.rows(),
            .shortest = tokens(),
            .longest = tokens(),
            .remedy = class_token.size() > 0 ? " Pass the class token and all patches of each image."
                                             : " Pass all patches of each image."};
  }

  auto apply(auto& run, auto x) const { return add_grid_positions(run, std::move(x), positions()); }

 private:
  GridPositions<T> positions() const {
    return {&weight, &class_token, cells.height, cells.width, patches.height, patches.width};
  }
};

}  // namespace gated
