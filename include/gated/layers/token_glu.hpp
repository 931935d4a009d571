#pragma once

#include "gated/layers/spatial_projection.hpp"

/// @file
/// The token mixer of gMixer: a gated feed-forward over the tokens of each channel.

namespace gated {

/// The options of a gated feed-forward over tokens.
struct TokenGluConfig {
  Index channels = 0;                        ///< C
  Index length = 0;                          ///< N, tokens
  Index hidden = 0;                          ///< M, of the gate and of what it multiplies; timm's GluMlp counts both
  Activation activation = Activation::silu;  ///< of the gate

  template <class C = TokenGluConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("length", &C::length), setting("hidden", &C::hidden),
                      setting("activation", &C::activation));
  }
};

/// y = W_o (act(W_g x + b_g) ⊙ (W_u x + b_u)) + b_o over the tokens of each sequence, for each channel alike: GluFeedForward
/// where MLP-Mixer has an MLP (timm's gmixer_*).
///
/// x is multiplied from the left, so that nothing is transposed. In a body, run(layer, x, {.residual = …}) fuses what follows
/// into the last product: see Fused.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built and for a stream, since every token sees all; ShapeError for a sequence that is not N long.
/// Cost: 6·N·M·C flops per sequence; scratch M × C for each.
template <class T>
struct TokenGlu : SequenceLayer<TokenGlu<T>, T> {
  using Scalar = T;
  using Config = TokenGluConfig;
  template <class Run>
  using Options = Fused<Run>;
  static constexpr const char* name = "TokenGlu";
  static constexpr const char* architecture = "gated.TokenGlu";

  TokenGluConfig config;
  SpatialProjection<T> gate;      ///< W_g: M × N
  SpatialProjection<T> up;        ///< W_u: M × N
  SpatialProjection<T> proj_out;  ///< W_o: N × M

  TokenGlu() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit TokenGlu(const TokenGluConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.length > 0 && c.hidden > 0, name, ": channels = ", c.channels,
                           ", length = ", c.length, " and hidden = ", c.hidden, " must be positive.");
    gate = up = SpatialProjection<T>({.length = c.length, .outputs = c.hidden});
    proj_out = SpatialProjection<T>({.length = c.hidden, .outputs = c.length});
    for (SpatialProjection<T>* projection : {&gate, &up, &proj_out}) {
      projection->bias.setZero();
    }
  }
  /// With initial parameters, as initialize() draws them.
  TokenGlu(const TokenGluConfig& c, Random& random) : TokenGlu(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const TokenGluConfig& c) { return 3 * Count(c.length) * c.hidden + 2 * Count(c.hidden) + c.length; }

  static constexpr auto fields() {
    return std::tuple{field("gate", &TokenGlu::gate), field("up", &TokenGlu::up), field("proj_out", &TokenGlu::proj_out)};
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  bool is_causal() const { return false; }
  Index longest() const { return config.length; }
  void check(Where where, const Sequences& sequences, Mask) const { gate.expect_lengths(where, sequences); }

  /// As GluFeedForward starts: a gate of N(0, 1e-6) with a bias of 1.
  void initialize(Random& random) {
    for (SpatialProjection<T>* projection : {&up, &proj_out}) {
      projection->fill_xavier(random);
      fill_normal(projection->bias, 1e-6, random);
    }
    fill_normal(gate.weight, 1e-6, random);
    gate.bias.setOnes();
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Fused<Run>& fused, const PlaceOf<Run>& to) const {
    const auto g = run(gate, x, {.activation = config.activation});  // M × C per sequence
    const auto gated = run(up, x, {.gate = g}, run.over(g));         // M × C, in place of the gate
    return run(proj_out, gated, fused, to);                          // N × C
  }
};

}  // namespace gated
