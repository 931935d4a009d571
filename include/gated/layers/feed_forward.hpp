#pragma once

#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/mlp.hpp"

/// @file
/// The feed-forward layer of a Transformer or MLP-Mixer: an MLP over the channels of each token.

namespace gated {

/// The options of a feed-forward layer.
struct FeedForwardConfig {
  static constexpr const char* layer_name = "FeedForward";          ///< layer name in error messages
  static constexpr const char* architecture = "gated.FeedForward";  ///< layer type in model files

  Index channels = 0;                        ///< C, channels of the input
  Index hidden = 0;                          ///< F, width between the projections; 0 for 4·C
  Index out = 0;                             ///< channels of the output; 0 for C
  Activation activation = Activation::gelu;  ///< activation between the projections
  bool bias = true;                          ///< adds biases to both projections

  Index hidden_channels() const { return hidden > 0 ? hidden : (4 * Count(channels)).value(); }
  Index out_channels() const { return out > 0 ? out : channels; }

  const FeedForwardConfig& checked() const {
    require<ArgumentError>(channels > 0 && hidden >= 0 && out >= 0, layer_name, ": channels = ", channels,
                           " must be positive, and hidden = ", hidden, " and out = ", out, " must not be negative.");
    return *this;
  }
  Contract contract(const Contract&) const { return {.in = channels, .out = out_channels(), .sees = Sees::itself}; }
  template <class T>
  Linear<T> proj_in() const {
    return {channels, hidden_channels(), bias};
  }
  template <class T>
  Linear<T> proj_out() const {
    return {hidden_channels(), out_channels(), bias};
  }
  template <class T>
  std::optional<TokenNorm<T>> token_norm() const {
    return std::nullopt;
  }

  template <class C = FeedForwardConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("out", &C::out),
                  setting("activation", &C::activation), setting("bias", &C::bias));
  }
};

/// y = W₂ act(W₁ x + b₁) + b₂ per token (arXiv:1706.03762, §3.3): see Mlp.
/// Shapes: x is N × C, y is N × out; W₁ is F × C, W₂ is out × F.
/// Cost: 2·N·F·(C + out) flops. Scratch: N × F elements.
template <class T>
using FeedForward = Mlp<T, FeedForwardConfig>;

}  // namespace gated
