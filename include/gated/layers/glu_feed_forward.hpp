#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/glu.hpp"
#include "gated/layers/linear.hpp"

/// @file
/// Gated feed-forward layers: SwiGLU and its relatives.

namespace gated {

/// The options of a gated feed-forward layer. The activation determines the variant: GLU (sigmoid), bilinear (identity),
/// ReGLU, GEGLU, SwiGLU.
struct GluFeedForwardConfig {
  static constexpr const char* layer_name = "GluFeedForward";          ///< layer name in error messages
  static constexpr const char* architecture = "gated.GluFeedForward";  ///< layer type in model files

  Index channels = 0;                        ///< C, channels of the input
  Index hidden = 0;                          ///< F, width of gate and up projection: half of timm's hidden_features
  Index out = 0;                             ///< channels of the output; 0 for C
  Activation activation = Activation::silu;  ///< activation of the gate
  bool bias = true;                          ///< adds b_g and b_u
  bool out_bias = true;                      ///< adds b_o
  NormForm norm = NormForm::none;            ///< norm of the product, before W_o
  double norm_eps = 1e-5;                    ///< ε of the norm

  Index out_channels() const { return out > 0 ? out : channels; }

  const GluFeedForwardConfig& checked() const {
    require<ArgumentError>(channels > 0 && hidden > 0 && out >= 0, layer_name, ": channels = ", channels,
                           " and hidden = ", hidden, " must be positive, and out = ", out, " must not be negative.");
    return *this;
  }
  Contract contract(const Contract&) const { return {.in = channels, .out = out_channels(), .sees = Sees::itself}; }
  template <class T>
  Linear<T> proj_in() const {
    return {channels, hidden, bias};
  }
  template <class T>
  Linear<T> proj_out() const {
    return {hidden, out_channels(), out_bias};
  }
  template <class T>
  Norm<T> hidden_norm() const {
    return Norm<T>(hidden, norm_eps, norm);
  }

  template <class C = GluFeedForwardConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("out", &C::out),
                  setting("activation", &C::activation), setting("bias", &C::bias), setting("out_bias", &C::out_bias),
                  setting("norm", &C::norm), setting("norm_eps", &C::norm_eps));
  }
};

/// y = W_o norm(act(W_g x + b_g) ⊙ (W_u x + b_u)) + b_o, token by token: see Glu.
/// Shapes: x is N × C, y is N × out; W_g and W_u are F × C, W_o is out × F.
/// Cost: 2·N·F·(2·C + out) flops. Scratch: N × F elements.
template <class T>
using GluFeedForward = Glu<T, GluFeedForwardConfig>;

}  // namespace gated
