#pragma once

#include <optional>

#include "gated/core/words.hpp"
#include "gated/layers/linear.hpp"

/// @file
/// The input projections of a gated attention unit.

namespace gated {

/// The weight layout of the projections to u (the gate), v (the values) and z (shared by queries and keys).
enum class ProjectionLayout {
  fused,    ///< one weight matrix with the rows of u, then v, then z: the FLASH paper, JunnYu, GAU-α, mmpose
  separate  ///< one weight matrix with the rows of v, then u, and one for z: lucidrains' FLASH-pytorch
};

constexpr auto names_of(ProjectionLayout) { return words_for<ProjectionLayout>("fused", "separate"); }

/// The options of a gated projection.
struct GatedProjectionConfig {
  Index channels = 0;                                 ///< C, channels of the input
  Index value = 0;                                    ///< E, width of u and v
  Index query_key = 0;                                ///< S, width of z
  ProjectionLayout layout = ProjectionLayout::fused;  ///< one weight matrix for u, v and z, or two
  bool bias = true;                                   ///< adds a bias b
  Activation activation = Activation::silu;           ///< activation of u, v and z
};

/// (u, v, z) = act(x W + b), with u and v of width E and z of width S (arXiv:2202.10447, eq. 3 and 5).
///
/// Shapes: x is N × C.
/// Errors: ShapeError for wrong sizes.
/// Cost: 2·N·C·(2E + S) flops.
template <class T>
struct GatedProjection {
  static constexpr const char* name = "GatedProjection";

  GatedProjectionConfig config;
  Linear<T> hidden;             ///< fused: (2E + S) × C, rows u, v, z; separate: 2E × C, rows v, u
  std::optional<Linear<T>> qk;  ///< separate: S × C

  GatedProjection() = default;
  explicit GatedProjection(const GatedProjectionConfig& c) : config(c) {
    require<ArgumentError>(c.value >= 0 && c.query_key >= 0, "GatedProjection: value = ", c.value,
                           " and query_key = ", c.query_key, " must not be negative.");
    const bool fused = c.layout == ProjectionLayout::fused;
    hidden = Linear<T>(c.channels, (2 * Count(c.value) + (fused ? c.query_key : 0)).value(), c.bias);
    if (!fused) {
      qk.emplace(c.channels, c.query_key, c.bias);
    }
  }

  static constexpr auto fields() {
    return Fields(field("hidden", &GatedProjection::hidden), field("qk", &GatedProjection::qk));
  }

  void initialize(Random& random) { initialize_sublayers(*this, random); }

  /// u (the gate), v (the values) and z (shared by queries and keys).
  template <class Run>
  struct Parts {
    MatrixOf<Run> u, v, z;
  };

  /// Computes u, v and z for the tokens x.
  template <class Run>
  Parts<Run> project(Run& run, MatrixOf<Run> x) const {
    const Index e = config.value;
    const Epilogue<Run> activated{.activation = config.activation};
    if (config.layout == ProjectionLayout::fused) {
      auto [u, v, z] = run.split(run(hidden, std::move(x), activated), e, e, config.query_key);
      return {std::move(u), std::move(v), std::move(z)};
    }
    auto [v, u] = run.split(run(hidden, x, activated), e, e);
    return {std::move(u), std::move(v), run(*qk, std::move(x), activated)};
  }
};

}  // namespace gated
