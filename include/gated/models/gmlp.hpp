#pragma once

#include <vector>

#include "gated/core/sequence_groups.hpp"
#include "gated/layers/gmlp_block.hpp"

/// @file
/// The trunk of gMLP and aMLP: a stack of identical blocks.

namespace gated {

/// What streaming keeps of one causal sequence: a value that the caller owns. A copy branches the sequence; rewind() goes back.
template <class T>
class GmlpState {
 public:
  /// Tokens seen.
  Index position() const { return position_; }

  /// Forgets the tokens from `position` on. Errors: ArgumentError unless 0 ≤ position ≤ position().
  void rewind(Index position) {
    require<ArgumentError>(position >= 0 && position <= position_, "GmlpState::rewind: position = ", position,
                           ", expected 0 … ", position_, ".");
    position_ = position;
  }

  /// The bytes that it holds, fixed when it is made: N × (gated channels + 2a + C with token shift) a block.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& block : blocks_) {
      sum += block.bytes();
    }
    return sum;
  }

 private:
  template <class>
  friend struct Gmlp;

  std::vector<GmlpBlockState<T>> blocks_;
  Index position_ = 0;
};

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
  static constexpr const char* architecture = "gated.Gmlp";

  GmlpConfig config;
  std::vector<GmlpBlock<T>> blocks;

  Gmlp() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit Gmlp(const GmlpConfig& c) : config(c) {
    require<ArgumentError>(c.length > 0 && c.channels > 0 && c.hidden > 0 && c.depth >= 0, "Gmlp: length = ", c.length,
                           ", channels = ", c.channels, ", hidden = ", c.hidden, ", depth = ", c.depth, " must be positive.");
    require<ArgumentError>(c.survival > 0 && c.survival <= 1, "Gmlp: survival = ", c.survival, ", expected 0 < survival ≤ 1.");
    blocks.reserve(static_cast<std::size_t>(c.depth));
    for (Index i = 0; i < c.depth; ++i) {
      blocks.emplace_back(c);
    }
  }
  /// The starting values of a training.
  Gmlp(const GmlpConfig& c, Random& random) : Gmlp(c) { initialize(random); }

  static constexpr auto fields() { return std::tuple{field("blocks", &Gmlp::blocks)}; }

  /// The starting values of a training.
  void initialize(Random& random) {
    for (GmlpBlock<T>& block : blocks) {
      block.initialize(random);
    }
  }

  /// All blocks, on all sequences at once.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences);
    expect_shape<T>("Gmlp::forward", "y", y, x.rows(), config.channels);
    if (y.data() != x.data()) {
      y = x;
    }
    for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
      View<T> rows = y.middleRows(first, group.total());
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i].forward(rows, group, rows, scratch.at("blocks", static_cast<Index>(i)));
      }
    });
  }

  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace) const {
    Matrix<T> y(x.rows(), x.cols());
    forward(x, sequences, y, workspace);
    return y;
  }

  /// Raises ShapeError unless x has the rows and channels that forward() takes.
  void check(const ConstView<T>& x, const Sequences& sequences) const {
    expect_columns<T>("Gmlp::forward", "x", x, "channels", config.channels);
    sequences.expect_total("Gmlp::forward", x.rows());
    if (!blocks.empty()) {
      blocks.front().gate.proj.expect_lengths("Gmlp::forward", sequences);
    }
  }

  /// The state before the first token. Errors: ArgumentError unless the model is causal.
  GmlpState<T> start() const {
    GmlpState<T> state;
    for (const GmlpBlock<T>& block : blocks) {
      state.blocks_.push_back(block.start());
    }
    return state;
  }

  /// The next tokens of a streamed sequence, one or many: y equals the same rows of forward() on the whole sequence.
  ///
  /// Shapes: x and y are tokens × C. Errors: ShapeError past the length that the model was built for; the state is then
  /// unchanged. Cost: a token at position t costs 2·C·F·1.5 + t·F flops a block, and no allocation.
  void extend(ConstView<T> x, GmlpState<T>& state, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("Gmlp::extend", "x", x, "channels", config.channels);
    expect_shape<T>("Gmlp::extend", "y", y, x.rows(), config.channels);
    expect_room("Gmlp::extend", state, x.rows());
    if (y.data() != x.data()) {
      y = x;
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].extend(y, state.position_, state.blocks_[i], y, workspace.at("blocks", static_cast<Index>(i)));
    }
    state.position_ += x.rows();
  }

  /// Raises an error unless `state` belongs to a model like this one and has room for `tokens` more.
  void expect_room(const char* where, const GmlpState<T>& state, Index tokens) const {
    require<ArgumentError>(state.blocks_.size() == blocks.size(), where, ": the state has ", state.blocks_.size(),
                           " blocks and the model ", blocks.size(), ". Make it with start() of this model.");
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      require<ArgumentError>(blocks[i].fits(state.blocks_[i]), where,
                             ": the state is of another configuration. Make it with start() of this model.");
    }
    expect_positions(where, tokens, state.position_, config.length,
                     "that the model was built for. Resize its spatial weights with resize_length(), rewind, or start anew.");
  }
};

}  // namespace gated
