#pragma once

#include <optional>

#include "gated/layers/spatial_projection.hpp"
#include "gated/layers/token_norm.hpp"

/// @file
/// The token mixer of MLP-Mixer: an MLP over the tokens of each channel.

namespace gated {

/// The options of an MLP over tokens.
struct TokenMlpConfig {
  Index channels = 0;                        ///< C
  Index length = 0;                          ///< N, tokens
  Index hidden = 0;                          ///< M, between the projections
  Activation activation = Activation::gelu;  ///< between the projections
  bool norm = false;                         ///< a LayerNorm over the tokens before W₁: ViT-FF
  double norm_eps = 1e-5;                    ///< ε of that norm

  template <class C = TokenMlpConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("length", &C::length), setting("hidden", &C::hidden),
                      setting("activation", &C::activation), setting("norm", &C::norm), setting("norm_eps", &C::norm_eps));
  }
};

/// y = W₂ act(W₁ x + b₁) + b₂ over the tokens of each sequence, for each channel alike (arXiv:2105.01601, eq. 1); with a norm,
/// which runs over the tokens too, of norm(x) in the place of x (ViT-FF, arXiv:2105.02723).
///
/// x is multiplied from the left, so that nothing is transposed. In a body, run(layer, x, {.residual = …}) fuses what follows
/// into the last product: see Fused.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built and for a stream, since every token sees all; ShapeError for a sequence that is not N long.
/// Cost: 4·N·M·C flops per sequence; scratch M × C for each.
template <class T>
struct TokenMlp : SequenceLayer<TokenMlp<T>, T> {
  using Scalar = T;
  using Config = TokenMlpConfig;
  template <class Run>
  using Options = Fused<Run>;
  static constexpr const char* name = "TokenMlp";
  static constexpr const char* architecture = "gated.TokenMlp";

  TokenMlpConfig config;
  std::optional<TokenNorm<T>> norm;
  SpatialProjection<T> proj_in;   ///< W₁: M × N
  SpatialProjection<T> proj_out;  ///< W₂: N × M

  TokenMlp() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit TokenMlp(const TokenMlpConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.length > 0 && c.hidden > 0, name, ": channels = ", c.channels,
                           ", length = ", c.length, " and hidden = ", c.hidden, " must be positive.");
    if (c.norm) {
      norm.emplace(c.channels, c.length, c.norm_eps);
    }
    proj_in = SpatialProjection<T>({.length = c.length, .outputs = c.hidden});
    proj_out = SpatialProjection<T>({.length = c.hidden, .outputs = c.length});
    proj_in.bias.setZero();
    proj_out.bias.setZero();
  }
  /// With initial parameters, as initialize() draws them.
  TokenMlp(const TokenMlpConfig& c, Random& random) : TokenMlp(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const TokenMlpConfig& c) {
    return 2 * Count(c.length) * c.hidden + c.hidden + c.length + (c.norm ? TokenNorm<T>::value_count(c.length) : 0);
  }

  static constexpr auto fields() {
    return std::tuple(field("norm", &TokenMlp::norm), field("proj_in", &TokenMlp::proj_in),
                      field("proj_out", &TokenMlp::proj_out));
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  bool is_causal() const { return false; }
  Index longest() const { return config.length; }
  void check(Where where, const Sequences& sequences, Mask) const { proj_in.expect_lengths(where, sequences); }

  /// As Linear starts.
  void initialize(Random& random) {
    for (SpatialProjection<T>* projection : {&proj_in, &proj_out}) {
      projection->fill_xavier(random);
      fill_normal(projection->bias, 1e-6, random);
    }
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Fused<Run>& fused, const PlaceOf<Run>& to) const {
    const auto normed = norm ? run(*norm, x) : x;
    const auto hidden = run(proj_in, normed, {.activation = config.activation});  // M × C per sequence
    return run(proj_out, hidden, fused, to);                                      // N × C
  }
};

}  // namespace gated
