#pragma once

#include "gated/layers/glu.hpp"
#include "gated/layers/spatial_projection.hpp"

/// @file
/// The token mixer of gMixer: a gated feed-forward layer over the tokens of each channel.

namespace gated {

/// The options of a gated feed-forward layer over tokens.
struct TokenGluConfig {
  static constexpr const char* layer_name = "TokenGlu";          ///< layer name in error messages
  static constexpr const char* architecture = "gated.TokenGlu";  ///< layer type in model files

  Index channels = 0;                        ///< C
  Index length = 0;                          ///< N, tokens
  Index hidden = 0;                          ///< M, width of the gate and up projections: half of timm's hidden_features
  Activation activation = Activation::silu;  ///< activation of the gate

  const TokenGluConfig& checked() const {
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
  Norm<T> hidden_norm() const {
    return {};
  }

  template <class C = TokenGluConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("length", &C::length), setting("hidden", &C::hidden),
                  setting("activation", &C::activation));
  }
};

/// y = W_o (act(W_g x + b_g) ⊙ (W_u x + b_u)) + b_o over the tokens of each sequence, shared by all channels: the token mixer
/// of timm's gmixer_*. See Glu.
///
/// The weights multiply x from the left, so x needs no transpose.
/// Shapes: x and y are rows × C; W_g and W_u are M × N, W_o is N × M.
/// Errors: ArgumentError if streamed, since every token sees all tokens; ShapeError unless sequences have N tokens.
/// Cost: 6·N·M·C flops per sequence. Scratch: M × C elements per sequence.
template <class T>
using TokenGlu = Glu<T, TokenGluConfig>;

}  // namespace gated
