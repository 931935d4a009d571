#pragma once

#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/spatial_gating_unit.hpp"
#include "gated/layers/tiny_attention.hpp"
#include "gated/ops/token_shift.hpp"

/// @file
/// One block of a gMLP or aMLP.

namespace gated {

/// Where a block normalises.
enum class NormPosition {
  pre,  ///< y = x + branch(LN(x)): the gMLP paper
  post  ///< y = LN(x + branch(x)): keyword spotting's KW-MLP
};

constexpr auto names_of(NormPosition) {
  return std::array{std::pair{NormPosition::pre, std::string_view("pre")},
                    std::pair{NormPosition::post, std::string_view("post")}};
}

/// The options of a gMLP: of each block, and how many blocks. The defaults are the paper's; presets set the others by origin.
struct GmlpConfig {
  Index length = 0;    ///< N, tokens
  Index channels = 0;  ///< C, of a block's input and output
  Index hidden = 0;    ///< F, between the channel projections, before the gate halves it; 6·C in the vision models
  Index depth = 1;     ///< blocks
  GateForm gate = GateForm::split;
  SpatialForm spatial = SpatialForm::dense;
  LengthPolicy length_policy = LengthPolicy::exact;
  bool causal = false;
  Index heads = 1;        ///< spatial matrices per block
  Index attention = 0;    ///< width of aMLP's tiny attention, 64 or 128 in the paper; 0 for none (gMLP)
  Index token_shift = 0;  ///< largest shift; 0 for none
  NormPosition norm_position = NormPosition::pre;
  Activation activation = Activation::gelu;
  Activation gate_activation = Activation::identity;
  double norm_eps = 1e-5;       ///< of the blocks' norms; timm has 1e-6
  double gate_norm_eps = 1e-5;  ///< of the norms inside the gates
  double survival = 1.0;        ///< probability that training keeps a block (stochastic depth); no effect on forward

  static constexpr auto fields() {
    using C = GmlpConfig;
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
                      setting("token_shift", &C::token_shift),
                      setting("norm_position", &C::norm_position),
                      setting("activation", &C::activation),
                      setting("gate_activation", &C::gate_activation),
                      setting("norm_eps", &C::norm_eps),
                      setting("gate_norm_eps", &C::gate_norm_eps),
                      setting("survival", &C::survival)};
  }
};

/// y = x + V s(σ(U LN(x))): norm, channel projection, activation, spatial gate, channel projection, shortcut (arXiv:2105.08050,
/// §2).
///
/// With `attention`, aMLP: tiny attention reads the normalised (and shifted) input and is added to the gate. Shapes: x and y
/// are rows × C; y may be x. Errors: ShapeError. Cost: 2·rows·C·F·1.5 + N²·F flops; scratch rows × (C + 2F).
template <class T>
struct GmlpBlock {
  using Scalar = T;

  GmlpConfig config;
  LayerNorm<T> norm;
  Linear<T> proj_in;  // U: F × C
  std::optional<TinyAttention<T>> attention;
  SpatialGatingUnit<T> gate;
  Linear<T> proj_out;  // V: C × F/2

  GmlpBlock() = default;
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
    if (c.attention > 0) {
      attention.emplace(
          TinyAttentionConfig{.channels = c.channels, .width = c.attention, .out = gate.out(), .causal = c.causal});
    }
  }

  static constexpr auto fields() {
    return std::tuple{field("norm", &GmlpBlock::norm), field("proj_in", &GmlpBlock::proj_in),
                      field("attention", &GmlpBlock::attention), field("gate", &GmlpBlock::gate),
                      field("proj_out", &GmlpBlock::proj_out)};
  }

  void initialize(Random& random) {
    proj_in.initialize(random);
    if (attention) {
      attention->initialize(random);
    }
    gate.initialize(random);
    proj_out.initialize(random);
  }

  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences, y);
    if (config.norm_position == NormPosition::pre) {
      const auto frame = workspace.frame();
      MatrixMap<T> normalised = workspace.matrix(x.rows(), x.cols());
      norm.forward(x, normalised, workspace.at("norm"));
      run_branch(normalised, sequences, y, workspace, Add<T>(x));
    } else {
      run_branch(x, sequences, y, workspace, Add<T>(x));
      norm.forward(y, y, workspace.at("norm"));
    }
    workspace.show(y);
  }

  /// The block without norm and shortcut: y = V s(σ(U x)). y must not overlap x.
  void branch(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences, y);
    run_branch(x, sequences, y, workspace);
  }

 private:
  void check(const ConstView<T>& x, const Sequences& sequences, const View<T>& y) const {
    expect_columns<T>("GmlpBlock::forward", "x", x, "channels", config.channels);
    sequences.expect_total("GmlpBlock::forward", x.rows());
    gate.proj.expect_lengths("GmlpBlock::forward", sequences);
    expect_shape<T>("GmlpBlock::forward", "y", y, x.rows(), config.channels);
  }

  template <class... Stages>
  void run_branch(const ConstView<T>& input, const Sequences& sequences, View<T> y, Workspace<T>& workspace,
                  const Stages&... stages) const {
    const auto frame = workspace.frame();
    if (config.token_shift > 0) {
      MatrixMap<T> shifted = workspace.matrix(input.rows(), input.cols());
      token_shift<T>(input, sequences, config.token_shift, config.causal, shifted);
      project_and_gate(shifted, sequences, y, workspace, stages...);
    } else {
      project_and_gate(input, sequences, y, workspace, stages...);
    }
  }

  template <class... Stages>
  void project_and_gate(const ConstView<T>& x, const Sequences& sequences, View<T> y, Workspace<T>& workspace,
                        const Stages&... stages) const {
    MatrixMap<T> z = workspace.matrix(x.rows(), config.hidden);
    MatrixMap<T> gated = workspace.matrix(x.rows(), gate.out());
    with_activation(config.activation,
                    [&](auto activation) { proj_in.forward(x, z, workspace.at("proj_in"), Activate{activation}); });
    if (attention) {
      MatrixMap<T> attended = workspace.matrix(x.rows(), gate.out());
      attention->forward(x, sequences, attended, workspace.at("attention"));
      gate.forward(z, sequences, attended, gated, workspace.at("gate"));
    } else {
      gate.forward(z, sequences, gated, workspace.at("gate"));
    }
    proj_out.forward(gated, y, workspace.at("proj_out"), stages...);
  }
};

}  // namespace gated
