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
/// It is the spatial projection of a gMLP without its gate.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built; ShapeError for a sequence of another length (see LengthPolicy).
/// Cost: 2·N²·C flops per sequence, about half of it when causal. A stream's state has N × C numbers.
template <class T>
struct TokenProjection : Layer<TokenProjection<T>> {
  using Config = TokenProjectionConfig;
  static constexpr const char* name = "TokenProjection";
  static constexpr const char* architecture = "gated.TokenProjection";

  TokenProjectionConfig config;
  SpatialProjection<T> proj;

  TokenProjection() = default;
  /// Weights that nobody has set and biases of zero, for a checkpoint to be loaded into.
  explicit TokenProjection(const TokenProjectionConfig& c) : config(c), proj(SpatialProjection<T>::linear(c.spatial())) {
    require<ArgumentError>(c.channels > 0, name, ": channels = ", c.channels, " must be positive.");
    require<ArgumentError>(c.channels % c.heads == 0, name, ": heads = ", c.heads, " does not divide channels = ", c.channels,
                           ".");
  }
  /// With initial parameters, as initialize() draws them.
  TokenProjection(const TokenProjectionConfig& c, Random& random) : TokenProjection(c) { this->initialize(random); }

  static constexpr auto fields() { return std::tuple{field("proj", &TokenProjection::proj)}; }

  /// Xavier-uniform weights and a bias of 0: timm's start.
  void initialize(Random& random) { proj.fill_xavier(random); }

  Contract contract() const {
    Contract contract = proj.contract();
    contract.in = contract.out = config.channels;
    return contract;
  }

  auto apply(auto& run, auto x, auto then) const { return run(proj, std::move(x), std::move(then)); }
};

}  // namespace gated
