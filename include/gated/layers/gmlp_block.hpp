#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm_position.hpp"
#include "gated/layers/spatial_gating_unit.hpp"
#include "gated/layers/tiny_attention.hpp"
#include "gated/ops/token_shift.hpp"

/// @file
/// One block of a gMLP or aMLP.

namespace gated {

/// The options of a gMLP: its blocks' options, and the number of blocks. The defaults are the paper's; models/presets.hpp has
/// published configurations.
///
/// A dense W has a weight per pair of positions and learns slowly on text. A Toeplitz W has one weight per offset; all of the
/// paper's language models use it (arXiv:2105.08050, §4).
struct GmlpConfig {
  Index length = 0;    ///< N, tokens
  Index channels = 0;  ///< C, channels of a block's input and output
  Index hidden = 0;    ///< F, output channels of the first projection; the split gate halves them; 6·C in the vision models
  Index depth = 1;     ///< number of blocks
  GateForm gate = GateForm::split;                   ///< form of the spatial gate s(Z)
  SpatialForm spatial = SpatialForm::dense;          ///< form of W, the matrix of s(Z); use toeplitz for text: see above
  LengthPolicy length_policy = LengthPolicy::exact;  ///< policy for sequences shorter than N tokens
  Index fourier_from = fourier_crossover;            ///< Toeplitz weights use the FFT from this length: see SpatialProjection
  bool causal = false;                               ///< no token sees a later one
  Index heads = 1;                                   ///< number of spatial matrices W per block
  Index attention_width = 0;    ///< width of aMLP's tiny attention, 64 or 128 in the paper; 0 for none (gMLP)
  bool attention_bias = false;  ///< bias of the tiny attention's q, k and v: see TinyAttentionConfig
  Index token_shift = 0;        ///< largest shift in tokens: see TokenShift; 0 for none
  NormPosition norm_position = NormPosition::pre;  ///< normalizes the branch's input, the residual sum, or the branch's output
  Activation activation = Activation::gelu;        ///< activation σ, after the first projection
  Activation gate_activation = Activation::identity;  ///< activation of the gate, before the product
  double norm_eps = 1e-5;                             ///< ε of the blocks' norms; timm uses 1e-6
  double gate_norm_eps = 1e-5;                        ///< ε of the norms inside the gates
  double drop_path = 0;                               ///< probability that training drops a block (stochastic depth)

  /// The options of each block's gate.
  SpatialGatingUnitConfig gating() const {
    return {.channels = hidden,
            .form = gate,
            .spatial = {.length = length,
                        .heads = heads,
                        .causal = causal,
                        .form = spatial,
                        .length_policy = length_policy,
                        .fourier_from = fourier_from},
            .activation = gate_activation,
            .norm_eps = gate_norm_eps};
  }
  /// The options of each block's attention, if any.
  TinyAttentionConfig tiny_attention() const {
    return {.channels = channels, .width = attention_width, .out = gating().out(), .causal = causal, .bias = attention_bias};
  }

  template <class C = GmlpConfig>
  static constexpr auto fields() {
    return Fields(setting("length", &C::length), setting("channels", &C::channels), setting("hidden", &C::hidden),
                  setting("depth", &C::depth), setting("gate", &C::gate), setting("spatial", &C::spatial),
                  setting("length_policy", &C::length_policy), setting("fourier_from", &C::fourier_from),
                  setting("causal", &C::causal), setting("heads", &C::heads), setting("attention_width", &C::attention_width),
                  setting("attention_bias", &C::attention_bias), setting("token_shift", &C::token_shift),
                  setting("norm_position", &C::norm_position), setting("activation", &C::activation),
                  setting("gate_activation", &C::gate_activation), setting("norm_eps", &C::norm_eps),
                  setting("gate_norm_eps", &C::gate_norm_eps), setting("drop_path", &C::drop_path));
  }
};

/// y = x + V s(σ(U LN(x))): norm, channel projection, activation, spatial gate, channel projection, residual
/// (arXiv:2105.08050, §2). This is pre-norm; for post-norm and res-post-norm, see NormPosition.
///
/// With `attention_width` > 0, this is an aMLP block: the output of tiny attention on the normalized (and shifted) input is
/// added to the gate.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed without a causal form; ShapeError for wrong sizes.
/// Cost: 3·rows·C·F flops, plus N²·F per sequence (split gate, dense W), plus those of the attention. Scratch: rows × (C + F)
/// elements, plus rows × 2F if the gate is not split, plus the attention's. A stream's state has n × (gated channels +
/// 2·attention_width) elements, plus n × C with token shift, plus about n × gated channels if a long Toeplitz weight uses the
/// FFT, where n = min(capacity, N).
template <class T>
struct GmlpBlock : Layer<GmlpBlock<T>> {
  using Config = GmlpConfig;
  static constexpr const char* name = "GmlpBlock";
  static constexpr const char* architecture = "gated.GmlpBlock";

  GmlpConfig config;
  Norm<T> norm;
  Linear<T> proj_in;  ///< U: F × C
  std::optional<TinyAttention<T>> attention;
  SpatialGatingUnit<T> gate;
  Linear<T> proj_out;  ///< V: C × F/2

  GmlpBlock() = default;
  explicit GmlpBlock(const GmlpConfig& c)
      : config(checked(c)),
        norm(c.channels, c.norm_eps),
        proj_in(c.channels, c.hidden),
        gate(c.gating()),
        proj_out(c.gating().out(), c.channels) {
    require<ArgumentError>(c.attention_width >= 0 && c.token_shift >= 0, "GmlpBlock: attention_width = ", c.attention_width,
                           " and token_shift = ", c.token_shift, " must not be negative.");
    require<ArgumentError>(c.token_shift <= c.channels, "GmlpBlock: token_shift = ", c.token_shift,
                           ", expected at most channels = ", c.channels, ", which are divided among the shifts.");
    require<ArgumentError>(c.drop_path >= 0 && c.drop_path < 1, "GmlpBlock: drop_path = ", c.drop_path,
                           ", expected 0 ≤ drop_path < 1.");
    if (c.attention_width > 0) {
      attention.emplace(c.tiny_attention());
    }
  }

  static constexpr auto fields() {
    return Fields(field("norm", &GmlpBlock::norm), field("proj_in", &GmlpBlock::proj_in),
                  field("attention", &GmlpBlock::attention), field("gate", &GmlpBlock::gate),
                  field("proj_out", &GmlpBlock::proj_out));
  }

  Contract contract() const {
    Contract contract = gate.contract();
    contract.in = contract.out = config.channels;
    if (!config.causal && (attention || config.token_shift > 0)) {
      contract.sees = Sees::all;
    } else if (attention || config.token_shift > 0) {
      contract.sees = std::max(contract.sees, Sees::past);
    }
    return contract;
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    auto [of_branch, of_norm] = place_residual<Run>(config.norm_position, {.residual = x, .drop_path = config.drop_path});
    x = norm_before(run, config.norm_position, norm, std::move(x));                               // N × C
    x = token_shift(run, std::move(x), {.amount = config.token_shift, .causal = config.causal});  // N × C
    auto z = run(proj_in, x, {.activation = config.activation});                                  // N × F
    auto attended = attention ? run(*attention, std::move(x)) : MatrixOf<Run>();                  // N × F/2
    x = run(proj_out, run(gate, std::move(z), std::move(attended)), std::move(of_branch));        // N × C
    return norm_after(run, config.norm_position, norm, std::move(x), std::move(of_norm));
  }

 private:
  static const GmlpConfig& checked(const GmlpConfig& c) {
    require<ArgumentError>(c.channels > 0 && c.hidden > 0, name, ": channels = ", c.channels, " and hidden = ", c.hidden,
                           " must be positive.");
    return c;
  }
};

}  // namespace gated
