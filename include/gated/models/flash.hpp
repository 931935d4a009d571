#pragma once

#include <vector>

#include "gated/core/sequence_groups.hpp"
#include "gated/layers/mixed_chunk_attention.hpp"

/// @file
/// The trunk of FLASH: a stack of mixed-chunk attention layers.

namespace gated {

/// The options of a stack of FLASH layers.
struct FlashConfig {
  Index depth = 1;                    ///< layers
  MixedChunkAttentionConfig layer{};  ///< the options of each

  template <class C = FlashConfig>
  static constexpr auto fields() {
    return std::tuple{setting("depth", &C::depth), setting("layer", &C::layer)};
  }
};

/// What streaming keeps of one causal sequence: a value that the caller owns, whose size is fixed when it is made. A copy
/// branches the sequence. It cannot be rewound, because it does not remember the tokens.
template <class T>
class FlashState {
 public:
  /// Tokens seen.
  Index position() const { return position_; }

  /// The bytes that it holds: S·E + c·(2S + E) numbers a layer, and C with token shift, however long the sequence.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& layer : layers_) {
      sum += layer.bytes();
    }
    return sum;
  }

 private:
  template <class>
  friend struct Flash;

  std::vector<MixedChunkAttentionState<T>> layers_;
  Index position_ = 0;
};

/// x ← layer(x), `depth` times: features in, features out, no final norm (arXiv:2202.10447, §3).
///
///     Flash<float> model({.depth = 12, .layer = flash_presets::lucidrains(512)}, random);
///     Matrix<float> y = model.forward(x, Sequences::single(4096), workspace);
///
/// Shapes: x and y are rows × C; y may be x. Errors: ArgumentError when built, ShapeError when run. Cost: depth × the layer's.
/// Scratch is one layer's and linear in the sequence (tests/models/flash_memory_test.cpp): at 32,768 tokens with C = 512, E =
/// 1024, S = 128, c = 256 a causal layer takes 491 MB, and 558 MB on two threads; N × N scores would be 4,295 MB.
template <class T>
struct Flash {
  using Scalar = T;
  using Config = FlashConfig;
  using State = FlashState<T>;
  static constexpr const char* architecture = "gated.Flash";

  FlashConfig config;
  std::vector<MixedChunkAttention<T>> layers;

  Flash() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit Flash(const FlashConfig& c) : config(c) {
    require<ArgumentError>(c.depth >= 0, "Flash: depth = ", c.depth, " must not be negative.");
    layers.reserve(static_cast<std::size_t>(c.depth));
    for (Index i = 0; i < c.depth; ++i) {
      layers.emplace_back(c.layer);
    }
  }
  /// The starting values of a training.
  Flash(const FlashConfig& c, Random& random) : Flash(c) { initialize(random); }

  static constexpr auto fields() { return std::tuple{field("layers", &Flash::layers)}; }

  /// The starting values of a training.
  void initialize(Random& random) {
    for (auto& layer : layers) {
      layer.initialize(random);
    }
  }

  /// All layers, on all sequences at once.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace, Mask mask = {}) const {
    check(x, sequences, mask);
    expect_shape<T>("Flash::forward", "y", y, x.rows(), config.layer.channels);
    if (y.data() != x.data()) {
      y = x;
    }
    for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
      View<T> rows = y.middleRows(first, group.total());
      const Mask visible = mask_part(mask, first, rows.rows());
      for (std::size_t i = 0; i < layers.size(); ++i) {
        layers[i].forward(rows, group, rows, scratch.at("layers", static_cast<Index>(i)), visible);
      }
    });
  }

  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace, Mask mask = {}) const {
    Matrix<T> y(x.rows(), x.cols());
    forward(x, sequences, y, workspace, mask);
    return y;
  }

  /// The state before the first token. Errors: ArgumentError unless the model is causal.
  State start() const {
    State state;
    for (const auto& layer : layers) {
      state.layers_.push_back(layer.start());
    }
    return state;
  }

  /// The next tokens of a streamed sequence, one or many: y equals the same rows of forward() on the whole sequence.
  /// Cost: of a token, independent of its position; no allocation when warm. If memory runs out in a call that is not warm,
  /// some layers have moved on and others have not: start anew.
  void extend(ConstView<T> x, State& state, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("Flash::extend", "x", x, "channels", config.layer.channels);
    expect_shape<T>("Flash::extend", "y", y, x.rows(), config.layer.channels);
    expect_state("Flash::extend", state);
    if (y.data() != x.data()) {
      y = x;
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i].extend(y, state.layers_[i], y, workspace.at("layers", static_cast<Index>(i)));
    }
    state.position_ += x.rows();
  }

  /// Raises ArgumentError unless `state` belongs to a model like this one.
  void expect_state(const char* where, const State& state) const {
    require<ArgumentError>(state.layers_.size() == layers.size(), where, ": the state has ", state.layers_.size(),
                           " layers and the model ", layers.size(), ". Make it with start() of this model.");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i].expect_state(where, state.layers_[i]);
    }
  }

  /// Raises ShapeError unless forward() takes x with these sequences and this mask.
  void check(const ConstView<T>& x, const Sequences& sequences, Mask mask) const {
    expect_columns<T>("Flash::forward", "x", x, "channels", config.layer.channels);
    sequences.expect_total("Flash::forward", x.rows());
    expect_mask("Flash::forward", mask, sequences);
  }
};

}  // namespace gated
