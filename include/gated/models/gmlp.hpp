#pragma once

#include <vector>

#include "gated/layers/gmlp_block.hpp"

/// @file
/// The trunk of gMLP and aMLP: a stack of identical blocks.

namespace gated {

/// x ← block(x), `depth` times: features in, features out, no final norm.
///
///     Random random(1);
///     Gmlp<float> model({.length = 196, .channels = 256, .hidden = 1536, .depth = 30}, random);
///     Workspace<float> workspace;
///     Matrix<float> y = model.forward(x, Sequences::uniform(8, 196), workspace);   // x: 8·196 × 256
///
/// Made without a Random, all projections are zero, which is what a checkpoint is loaded into.
/// Shapes: x and y are rows × C; y may be x. Errors: ArgumentError when built, ShapeError when run.
/// Cost: depth × the block's; all methods are const and a model may serve many threads, each with its own workspace.
template <class T>
struct Gmlp {
  using Scalar = T;
  using Config = GmlpConfig;

  GmlpConfig config;
  std::vector<GmlpBlock<T>> blocks;

  Gmlp() = default;
  explicit Gmlp(const GmlpConfig& c) : config(c) {
    require<ArgumentError>(c.length > 0 && c.channels > 0 && c.hidden > 0 && c.depth >= 0, "Gmlp: length = ", c.length,
                           ", channels = ", c.channels, ", hidden = ", c.hidden, ", depth = ", c.depth, " must be positive.");
    require<ArgumentError>(c.survival > 0 && c.survival <= 1, "Gmlp: survival = ", c.survival, ", expected 0 < survival ≤ 1.");
    blocks.assign(static_cast<std::size_t>(c.depth), GmlpBlock<T>(c));
  }
  Gmlp(const GmlpConfig& c, Random& random) : Gmlp(c) { initialize(random); }

  static constexpr auto fields() { return std::tuple{field("blocks", &Gmlp::blocks)}; }

  void initialize(Random& random) {
    for (GmlpBlock<T>& block : blocks) {
      block.initialize(random);
    }
  }

  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("Gmlp::forward", "x", x, "channels", config.channels);
    expect_shape<T>("Gmlp::forward", "y", y, x.rows(), config.channels);
    sequences.expect_total("Gmlp::forward", x.rows());
    if (!blocks.empty()) {
      blocks.front().gate.proj.expect_lengths("Gmlp::forward", sequences);
    }
    if (y.data() != x.data()) {
      y = x;
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].forward(y, sequences, y, workspace.at("blocks", static_cast<Index>(i)));
    }
  }

  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace) const {
    Matrix<T> y(x.rows(), x.cols());
    forward(x, sequences, y, workspace);
    return y;
  }
};

}  // namespace gated
