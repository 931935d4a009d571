#pragma once

#include "gated/layers/spatial_projection.hpp"

/// @file
/// ResMLP's token mixer: one linear map.

namespace gated {

/// The options of a linear token mixer.
struct TokenProjectionConfig {
  Index channels = 0;                                ///< C
  Index length = 0;                                  ///< N, tokens
  Index heads = 1;                                   ///< number of matrices W; each applies to C / heads channels
  bool causal = false;                               ///< no token sees a later one
  SpatialForm form = SpatialForm::dense;             ///< how W is parameterized
  LengthPolicy length_policy = LengthPolicy::exact;  ///< policy for sequences shorter than N tokens
  Index fourier_from = fourier_crossover;            ///< Toeplitz weights use the FFT from this length: see SpatialProjection

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
    return Fields(setting("channels", &C::channels), setting("length", &C::length), setting("heads", &C::heads),
                  setting("causal", &C::causal), setting("form", &C::form), setting("length_policy", &C::length_policy),
                  setting("fourier_from", &C::fourier_from));
  }
};

/// y = W x + b over the tokens of each sequence, shared by all channels: the linear layer of ResMLP (arXiv:2105.03404, eq. 2).
///
/// The spatial projection of gMLP, without the gate: see SpatialProjection.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for a sequence of the wrong length (see
/// LengthPolicy).
/// Cost: 2·N²·C flops per sequence, about half of it when causal. A stream's state has min(capacity, N) × C elements.
template <class T>
struct TokenProjection : Layer<TokenProjection<T>> {
  using Config = TokenProjectionConfig;
  static constexpr const char* name = "TokenProjection";
  static constexpr const char* architecture = "gated.TokenProjection";

  TokenProjectionConfig config;
  SpatialProjection<T> proj;

  TokenProjection() = default;
  /// Uninitialized weights, to be loaded from a checkpoint; biases of 0.
  explicit TokenProjection(const TokenProjectionConfig& c) : config(c), proj(SpatialProjection<T>::linear(c.spatial())) {
    require<ArgumentError>(c.channels > 0, name, ": channels = ", c.channels, " must be positive.");
    require<ArgumentError>(c.channels % c.heads == 0, name, ": heads = ", c.heads, " does not divide channels = ", c.channels,
                           ".");
  }
  TokenProjection(const TokenProjectionConfig& c, Random& random) : TokenProjection(c) { this->initialize(random); }

  static constexpr auto fields() { return Fields(field("proj", &TokenProjection::proj)); }

  /// timm's initialization: Xavier-uniform weights and a bias of 0.
  void initialize(Random& random) { proj.fill_xavier(random); }

  Contract contract() const {
    Contract contract = proj.contract();
    contract.in = contract.out = config.channels;
    return contract;
  }

  auto apply(auto& run, auto x, auto then) const { return run(proj, std::move(x), std::move(then)); }
};

}  // namespace gated
