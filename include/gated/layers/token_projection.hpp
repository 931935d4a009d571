#pragma once

#include "gated/layers/spatial_projection.hpp"

/// @file
/// The token mixer that is one linear map: ResMLP's.

namespace gated {

/// The options of a linear token mixer.
struct TokenProjectionConfig {
  Index channels = 0;                                ///< C
  Index length = 0;                                  ///< N, tokens
  Index heads = 1;                                   ///< matrices; each mixes its own C / heads channels
  bool causal = false;                               ///< tokens see no later ones
  SpatialForm form = SpatialForm::dense;             ///< which numbers W is made of
  LengthPolicy length_policy = LengthPolicy::exact;  ///< what to do with sequences that are not N long
  Index fourier_from = fourier_crossover;            ///< tokens from which a Toeplitz form goes by Fourier transform

  SpatialProjectionConfig spatial() const {
    return {.length = length,
            .heads = heads,
            .causal = causal,
            .form = form,
            .length_policy = length_policy,
            .fourier_from = fourier_from};
  }

  template <class C = TokenProjectionConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("length", &C::length), setting("heads", &C::heads),
                      setting("causal", &C::causal), setting("form", &C::form), setting("length_policy", &C::length_policy),
                      setting("fourier_from", &C::fourier_from));
  }
};

/// y = W x + b over the tokens of each sequence, for all channels alike: the linear layer of ResMLP (arXiv:2105.03404, eq. 2).
///
/// It is the spatial projection of a gMLP without its gate. In a body, run(layer, x, {.residual = …}): see Fused.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built; ShapeError for a sequence of another length (see LengthPolicy).
/// Cost: 2·N²·C flops per sequence, about half of it when causal. A stream's state has N × C numbers.
template <class T>
struct TokenProjection : SequenceLayer<TokenProjection<T>, T> {
  using Scalar = T;
  using Config = TokenProjectionConfig;
  template <class Run>
  using Options = Fused<Run>;
  static constexpr const char* name = "TokenProjection";
  static constexpr const char* architecture = "gated.TokenProjection";

  TokenProjectionConfig config;
  SpatialProjection<T> proj;

  TokenProjection() = default;
  /// Weights that nobody has set and biases of zero, for a checkpoint to be loaded into.
  explicit TokenProjection(const TokenProjectionConfig& c) : config(c), proj(c.spatial()) {
    require<ArgumentError>(c.channels > 0, name, ": channels = ", c.channels, " must be positive.");
    require<ArgumentError>(c.channels % c.heads == 0, name, ": heads = ", c.heads, " does not divide channels = ", c.channels,
                           ".");
    proj.bias.setZero();
  }
  /// With initial parameters, as initialize() draws them.
  TokenProjection(const TokenProjectionConfig& c, Random& random) : TokenProjection(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const TokenProjectionConfig& c) { return SpatialProjection<T>::value_count(c.spatial()); }

  static constexpr auto fields() { return std::tuple{field("proj", &TokenProjection::proj)}; }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  bool is_causal() const { return proj.is_causal(); }
  Index longest() const { return config.length; }
  /// Whether it takes Fused::map over a batch: not where a transform reads x.
  bool takes_map(const Sequences& sequences) const { return !proj.parameters().is_transformed(sequences.longest()); }
  void check(Where where, const Sequences& sequences, Mask) const { proj.expect_lengths(where, sequences); }

  /// Xavier-uniform weights and a bias of 0: timm's start.
  void initialize(Random& random) { proj.fill_xavier(random); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Fused<Run>& fused, const PlaceOf<Run>& to) const {
    return run(proj, x, fused, to);
  }
};

}  // namespace gated
