#pragma once

#include <optional>

#include "gated/layers/mlp.hpp"
#include "gated/layers/spatial_projection.hpp"

/// @file
/// The token mixer of MLP-Mixer: an MLP over the tokens of each channel.

namespace gated {

/// The options of an MLP over tokens.
struct TokenMlpConfig {
  static constexpr const char* layer_name = "TokenMlp";          ///< layer name in error messages
  static constexpr const char* architecture = "gated.TokenMlp";  ///< layer type in model files

  Index channels = 0;                        ///< C
  Index length = 0;                          ///< N, tokens
  Index hidden = 0;                          ///< M, width between the projections
  Activation activation = Activation::gelu;  ///< activation between the projections
  bool norm = false;                         ///< adds a LayerNorm over the tokens before W₁, as in ViT-FF
  double norm_eps = 1e-5;                    ///< ε of the LayerNorm

  const TokenMlpConfig& checked() const {
    require<ArgumentError>(channels > 0 && length > 0 && hidden > 0, layer_name, ": channels = ", channels,
                           ", length = ", length, " and hidden = ", hidden, " must be positive.");
    return *this;
  }
  Contract contract(const Contract& of_tokens) const { return contract_over_tokens(of_tokens, channels); }
  template <class T>
  SpatialProjection<T> proj_in() const {
    return SpatialProjection<T>::linear({.length = length, .outputs = hidden});
  }
  template <class T>
  SpatialProjection<T> proj_out() const {
    return SpatialProjection<T>::linear({.length = hidden, .outputs = length});
  }
  template <class T>
  std::optional<TokenNorm<T>> token_norm() const {
    return norm ? std::optional<TokenNorm<T>>(std::in_place, channels, length, norm_eps) : std::nullopt;
  }

  template <class C = TokenMlpConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("length", &C::length), setting("hidden", &C::hidden),
                  setting("activation", &C::activation), setting("norm", &C::norm), setting("norm_eps", &C::norm_eps));
  }
};

/// y = W₂ act(W₁ norm(x) + b₁) + b₂ over the tokens of each sequence, with the same weights for all channels (arXiv:2105.01601,
/// eq. 1). The norm, also over the tokens, is optional (ViT-FF, arXiv:2105.02723). See Mlp.
///
/// The weights multiply x from the left, so x needs no transpose.
/// Shapes: x and y are rows × C; W₁ is M × N, W₂ is N × M.
/// Errors: ArgumentError if streamed, since every token sees all tokens; ShapeError unless sequences have N tokens.
/// Cost, per sequence: 4·N·M·C flops. Scratch, per sequence: M·C elements.
template <class T>
using TokenMlp = Mlp<T, TokenMlpConfig>;

}  // namespace gated
