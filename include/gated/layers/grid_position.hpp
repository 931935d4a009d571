#pragma once

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
struct GridPosition : SequenceLayer<GridPosition<T>, T> {
  using Scalar = T;
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
  /// The values in one of these sizes.
  static Count value_count(Count channels, ImageSize cells, bool with_class_token) {
    return channels * cells.height * cells.width + (with_class_token ? channels : 0);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &GridPosition::weight, Role::position, &GridPosition::weight_shape),
                      field("class_token", &GridPosition::class_token, Role::position)};
  }
  Shape weight_shape() const { return {1, weight.rows(), cells.height, cells.width}; }

  Index in() const { return weight.rows(); }
  Index out() const { return weight.rows(); }
  /// The tokens of an image.
  Index tokens() const { return patches.area() + (class_token.size() > 0 ? 1 : 0); }
  Index longest() const { return tokens(); }
  void check(Where where, const Sequences& sequences, Mask) const {
    for (Index b = 0; b < sequences.count(); ++b) {
      require<ShapeError>(sequences.length(b) == tokens(), where, ": sequence ", b, " has ", sequences.length(b),
                          " tokens, expected ", tokens(), " of ", patches.height, " × ", patches.width, " patches",
                          class_token.size() > 0 ? " and a class token." : ".");
    }
  }

  /// N(0, 0.02²), as embeddings.
  void initialize(Random& random) {
    fill_normal(weight, 0.02, random);
    fill_normal(class_token, 0.02, random);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    return add_grid_positions<Run, T>(run, x, {&weight, &class_token, cells.height, cells.width, patches.height, patches.width},
                                      to);
  }
};

}  // namespace gated
