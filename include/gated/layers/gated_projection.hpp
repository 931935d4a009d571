#pragma once

#include <optional>

#include "gated/layers/linear.hpp"

/// @file
/// The projections that open a gated attention unit.

namespace gated {

/// How u (the gate), v (the values) and z (shared by queries and keys) are projected from one input.
enum class ProjectionLayout {
  fused,    ///< one projection whose rows are u, v, z: the FLASH paper, JunnYu, GAU-α, mmpose
  separate  ///< one for v and u, in this order, and one for z: lucidrains
};

constexpr auto names_of(ProjectionLayout) {
  return std::array{std::pair{ProjectionLayout::fused, std::string_view("fused")},
                    std::pair{ProjectionLayout::separate, std::string_view("separate")}};
}

/// (u, v, z) = act(x W + b), with u and v of width E and z of width S (arXiv:2202.10447, eq. 3 and 5).
///
/// Shapes: x is N × C. Errors: ShapeError. Cost: 2·N·C·(2E + S) flops.
template <class T>
struct GatedProjection {
  using Scalar = T;

  ProjectionLayout layout = ProjectionLayout::fused;
  Activation activation = Activation::silu;
  Index value = 0, query_key = 0;
  Linear<T> hidden;             ///< fused: (2E + S) × C, rows u, v, z; separate: 2E × C, rows v, u
  std::optional<Linear<T>> qk;  ///< separate: S × C

  GatedProjection() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  GatedProjection(Index channels, Index value_, Index query_key_, ProjectionLayout layout_, bool bias, Activation activation_)
      : layout(layout_), activation(activation_), value(value_), query_key(query_key_) {
    require<ArgumentError>(value >= 0 && query_key >= 0, "GatedProjection: value = ", value, " and query_key = ", query_key,
                           " must not be negative.");
    const bool fused = layout == ProjectionLayout::fused;
    hidden = Linear<T>(channels, 2 * value + (fused ? query_key : 0), bias);
    if (!fused) {
      qk.emplace(channels, query_key, bias);
    }
  }

  static constexpr auto fields() {
    return std::tuple{field("hidden", &GatedProjection::hidden), field("qk", &GatedProjection::qk)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    hidden.initialize(random);
    if (qk) {
      qk->initialize(random);
    }
  }

  /// u, v and z of each token, as parts of scratch memory.
  struct Parts {
    View<T> u, v, z;
  };

  /// Projects into scratch of the caller's frame.
  Parts forward(ConstView<T> x, Workspace<T>& workspace) const {
    MatrixMap<T> all = workspace.matrix(x.rows(), 2 * value + query_key);
    View<T> first = all.leftCols(value), second = all.middleCols(value, value), z = all.rightCols(query_key);
    const Activate act{activation};
    if (layout == ProjectionLayout::fused) {
      hidden.forward(x, all, workspace.at("hidden"), act);
    } else {
      hidden.forward(x, all.leftCols(2 * value), workspace.at("hidden"), act);
      qk->forward(x, z, workspace.at("qk"), act);
    }
    return layout == ProjectionLayout::fused ? Parts{first, second, z} : Parts{second, first, z};
  }
};

}  // namespace gated
