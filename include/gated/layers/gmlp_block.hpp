#pragma once

#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm_position.hpp"
#include "gated/layers/spatial_gating_unit.hpp"
#include "gated/layers/tiny_attention.hpp"
#include "gated/ops/token_shift.hpp"

/// @file
/// One block of a gMLP or aMLP.

namespace gated {

/// The options of a gMLP: of each block, and how many blocks. The defaults are the paper's; presets set the others by origin.
struct GmlpConfig {
  Index length = 0;    ///< N, tokens
  Index channels = 0;  ///< C, of a block's input and output
  Index hidden = 0;    ///< F, between the channel projections, before the gate halves it; 6·C in the vision models
  Index depth = 1;     ///< blocks
  GateForm gate = GateForm::split;                   ///< the form of s(Z)
  SpatialForm spatial = SpatialForm::dense;          ///< which numbers W is made of
  LengthPolicy length_policy = LengthPolicy::exact;  ///< what to do with sequences that are not N long
  bool causal = false;                               ///< tokens see no later ones
  Index heads = 1;                                   ///< spatial matrices per block
  Index attention = 0;          ///< width of aMLP's tiny attention, 64 or 128 in the paper; 0 for none (gMLP)
  bool attention_bias = false;  ///< of its query, key and value; lucidrains has none, the paper's counts imply it
  Index token_shift = 0;        ///< largest shift; 0 for none
  NormPosition norm_position = NormPosition::pre;     ///< a block's norm stands before it, or behind its shortcut
  Activation activation = Activation::gelu;           ///< σ, behind the first projection
  Activation gate_activation = Activation::identity;  ///< of the gate, before it is multiplied
  double norm_eps = 1e-5;                             ///< of the blocks' norms; timm has 1e-6
  double gate_norm_eps = 1e-5;                        ///< of the norms inside the gates
  double survival = 1.0;  ///< probability that training keeps a block (stochastic depth); no effect on forward

  template <class C = GmlpConfig>
  static constexpr auto fields() {
    return std::tuple{setting("length", &C::length),
                      setting("channels", &C::channels),
                      setting("hidden", &C::hidden),
                      setting("depth", &C::depth),
                      setting("gate", &C::gate),
                      setting("spatial", &C::spatial),
                      setting("length_policy", &C::length_policy),
                      setting("causal", &C::causal),
                      setting("heads", &C::heads),
                      setting("attention", &C::attention),
                      setting("attention_bias", &C::attention_bias),
                      setting("token_shift", &C::token_shift),
                      setting("norm_position", &C::norm_position),
                      setting("activation", &C::activation),
                      setting("gate_activation", &C::gate_activation),
                      setting("norm_eps", &C::norm_eps),
                      setting("gate_norm_eps", &C::gate_norm_eps),
                      setting("survival", &C::survival)};
  }
};

/// What a block remembers of a causal sequence: a value, sized for the longest one when it is made.
template <class T>
struct GmlpBlockState {
  Matrix<T> gate;          ///< N × gated channels: normalised gate inputs
  Matrix<T> keys, values;  ///< N × a, with attention
  Matrix<T> shifted;       ///< N × C, with token shift: the inputs before the shift

  std::size_t bytes() const {
    return sizeof(T) * static_cast<std::size_t>(gate.size() + keys.size() + values.size() + shifted.size());
  }
};

/// y = x + V s(σ(U LN(x))): norm, channel projection, activation, spatial gate, channel projection, shortcut (arXiv:2105.08050,
/// §2).
///
/// With `attention`, aMLP: tiny attention reads the normalised (and shifted) input and is added to the gate. Shapes: x and y
/// are rows × C; y may be x. Errors: ShapeError. Cost: 2·rows·C·F·1.5 + N²·F flops; scratch rows × (C + F), 2F
/// more with a gate that is not split, and what attention takes.
template <class T>
struct GmlpBlock {
  using Scalar = T;

  GmlpConfig config;
  LayerNorm<T> norm;
  Linear<T> proj_in;  ///< U: F × C
  std::optional<TinyAttention<T>> attention;
  SpatialGatingUnit<T> gate;
  Linear<T> proj_out;  ///< V: C × F/2

  GmlpBlock() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit GmlpBlock(const GmlpConfig& c)
      : config(c),
        norm(c.channels, c.norm_eps),
        proj_in(c.channels, c.hidden),
        gate({.channels = c.hidden,
              .form = c.gate,
              .spatial = {.length = c.length,
                          .heads = c.heads,
                          .causal = c.causal,
                          .form = c.spatial,
                          .length_policy = c.length_policy},
              .activation = c.gate_activation,
              .norm_eps = c.gate_norm_eps}),
        proj_out(gate.out(), c.channels) {
    require<ArgumentError>(c.attention >= 0 && c.token_shift >= 0, "GmlpBlock: attention = ", c.attention,
                           " and token_shift = ", c.token_shift, " must not be negative.");
    require<ArgumentError>(c.token_shift <= c.channels, "GmlpBlock: token_shift = ", c.token_shift, ", expected at most the ",
                           c.channels, " channels, which are divided among the shifts.");
    if (c.attention > 0) {
      attention.emplace(TinyAttentionConfig{
          .channels = c.channels, .width = c.attention, .out = gate.out(), .causal = c.causal, .bias = c.attention_bias});
    }
  }

  static constexpr auto fields() {
    return std::tuple{field("norm", &GmlpBlock::norm), field("proj_in", &GmlpBlock::proj_in),
                      field("attention", &GmlpBlock::attention), field("gate", &GmlpBlock::gate),
                      field("proj_out", &GmlpBlock::proj_out)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    proj_in.initialize(random);
    if (attention) {
      attention->initialize(random);
    }
    gate.initialize(random);
    proj_out.initialize(random);
  }

  /// y for all sequences at once.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences);
    expect_shape<T>("GmlpBlock::forward", "y", y, x.rows(), config.channels);
    run(x, y, workspace, Batch{*this, sequences});
  }

  /// The block without norm and shortcut: y = V s(σ(U x)). y must not overlap x.
  void branch(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences);
    expect_shape<T>("GmlpBlock::forward", "y", y, x.rows(), config.channels);
    run_branch(x, y, workspace, Batch{*this, sequences});
  }

  /// The memory of an empty sequence. Errors: ArgumentError unless the block is causal.
  GmlpBlockState<T> start() const {
    require<ArgumentError>(config.causal,
                           "GmlpBlock::start: the block is not causal, so a token's output depends on later "
                           "tokens and cannot be streamed. Build it with causal = true.");
    const Index n = config.length, a = config.attention;
    return {.gate = Matrix<T>::Zero(n, gate.out()),
            .keys = Matrix<T>::Zero(a > 0 ? n : 0, a),
            .values = Matrix<T>::Zero(a > 0 ? n : 0, a),
            .shifted = Matrix<T>::Zero(config.token_shift > 0 ? n : 0, config.channels)};
  }

  /// True if start() of a block of this configuration made `state`.
  bool fits(const GmlpBlockState<T>& state) const {
    const Index n = config.length, a = config.attention;
    const auto has_shape = [](const Matrix<T>& x, Index rows, Index columns) {
      return x.rows() == rows && x.cols() == columns;
    };
    return has_shape(state.gate, n, gate.out()) && has_shape(state.keys, a > 0 ? n : 0, a) &&
           has_shape(state.values, a > 0 ? n : 0, a) &&
           has_shape(state.shifted, config.token_shift > 0 ? n : 0, config.channels);
  }

  /// forward() for the tokens from position `first` on of one sequence, whose earlier tokens are in `state`; they join it.
  /// Errors: ShapeError beyond the length that the block was built for, ArgumentError for a state that does not fit(). Cost: a
  /// token reads one row of W: 2·t·F/2 flops.
  void extend(ConstView<T> x, Index first, GmlpBlockState<T>& state, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("GmlpBlock::extend", "x", x, "channels", config.channels);
    expect_shape<T>("GmlpBlock::extend", "y", y, x.rows(), config.channels);
    expect_positions("GmlpBlock::extend", x.rows(), first, config.length,
                     "that the block was built for. Resize its spatial weight with resize_length(), or start anew.");
    require<ArgumentError>(fits(state), "GmlpBlock::extend: the state is of another configuration. Make it with start().");
    const auto frame = workspace.frame();
    take_for_later_steps<T>(config.length - first, workspace);
    run(x, y, workspace, Stream{*this, first, state});
  }

  /// Raises ShapeError unless x has the rows and channels that forward() takes.
  void check(const ConstView<T>& x, const Sequences& sequences) const {
    expect_columns<T>("GmlpBlock::forward", "x", x, "channels", config.channels);
    sequences.expect_total("GmlpBlock::forward", x.rows());
    gate.proj.expect_lengths("GmlpBlock::forward", sequences);
  }

 private:
  /// The layers that look at other tokens, for whole sequences.
  struct Batch {
    const GmlpBlock& block;
    const Sequences& sequences;

    void shift(const ConstView<T>& x, View<T> y) const {
      token_shift<T>(x, sequences, block.config.token_shift, block.config.causal, y);
    }
    void attend(const ConstView<T>& x, View<T> y, Workspace<T>& workspace) const {
      block.attention->forward(x, sequences, y, workspace);
    }
    void gate(View<T> z, const ConstView<T>& attended, View<T> y, Workspace<T>& workspace) const {
      if (block.config.gate == GateForm::split) {
        block.gate.forward_in_place(z, sequences, attended, workspace);
      } else if (attended.rows() > 0) {
        block.gate.forward(z, sequences, attended, y, workspace);
      } else {
        block.gate.forward(z, sequences, y, workspace);
      }
    }
  };

  /// The same for the next tokens of one sequence.
  struct Stream {
    const GmlpBlock& block;
    Index first;
    GmlpBlockState<T>& state;

    void shift(const ConstView<T>& x, View<T> y) const {
      state.shifted.middleRows(first, x.rows()) = x;
      token_shift_causal_rows<T>(state.shifted, first, block.config.token_shift, y);
    }
    void attend(const ConstView<T>& x, View<T> y, Workspace<T>& workspace) const {
      block.attention->extend(x, first, state.keys, state.values, y, workspace);
    }
    void gate(const ConstView<T>& z, const ConstView<T>& attended, View<T> y, Workspace<T>& workspace) const {
      block.gate.extend(z, first, state.gate, attended, y, workspace);
    }
  };

  template <class Mixing>
  void run(const ConstView<T>& x, View<T> y, Workspace<T>& workspace, const Mixing& mixing) const {
    if (config.norm_position == NormPosition::pre) {
      const auto frame = workspace.frame();
      MatrixMap<T> normalised = workspace.matrix(x.rows(), x.cols());
      norm.forward(x, normalised, workspace.at("norm"));
      run_branch(normalised, y, workspace, mixing, Add<T>(x));
    } else {
      run_branch(x, y, workspace, mixing, Add<T>(x));
      norm.forward(y, y, workspace.at("norm"));
    }
    workspace.show(y);
  }

  template <class Mixing, class... Stages>
  void run_branch(const ConstView<T>& input, View<T> y, Workspace<T>& workspace, const Mixing& mixing,
                  const Stages&... stages) const {
    const auto frame = workspace.frame();
    if (config.token_shift > 0) {
      MatrixMap<T> shifted = workspace.matrix(input.rows(), input.cols());
      mixing.shift(input, shifted);
      project_and_gate(shifted, y, workspace, mixing, stages...);
    } else {
      project_and_gate(input, y, workspace, mixing, stages...);
    }
  }

  template <class Mixing, class... Stages>
  void project_and_gate(const ConstView<T>& x, View<T> y, Workspace<T>& workspace, const Mixing& mixing,
                        const Stages&... stages) const {
    MatrixMap<T> z = workspace.matrix(x.rows(), config.hidden);
    const bool split = config.gate == GateForm::split;  // then the gated half takes the place of u
    MatrixMap<T> apart = workspace.matrix(split ? 0 : x.rows(), gate.out());
    const View<T> gated = split ? View<T>(z.leftCols(gate.out())) : View<T>(apart);
    MatrixMap<T> attended = workspace.matrix(attention ? x.rows() : 0, gate.out());
    proj_in.forward(x, z, workspace.at("proj_in"), Activate{config.activation});
    if (attention) {
      mixing.attend(x, attended, workspace.at("attention"));
    }
    mixing.gate(z, attended, gated, workspace.at("gate"));
    proj_out.forward(gated, y, workspace.at("proj_out"), stages...);
  }
};

}  // namespace gated
