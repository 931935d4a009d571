#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/depthwise_convolution.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"

/// @file
/// A projection followed by a short convolution.

namespace gated {

/// The options of a convolutional projection. The defaults are MossFormer2's.
struct ConvolutionalProjectionConfig {
  Index channels = 0;                        ///< C, channels of the input
  Index out = 0;                             ///< channels of the output
  NormForm norm = NormForm::scale_norm;      ///< norm of the input
  double norm_eps = 1e-5;                    ///< ε of the norm
  Activation activation = Activation::silu;  ///< activation of the projection
  Index kernel = 17;                         ///< K, the number of taps; odd unless causal
  bool causal = false;                       ///< no token sees a later one

  template <class C = ConvolutionalProjectionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("out", &C::out), setting("norm", &C::norm),
                  setting("norm_eps", &C::norm_eps), setting("activation", &C::activation), setting("kernel", &C::kernel),
                  setting("causal", &C::causal));
  }
};

/// y = z + conv(z) with z = act(W norm(x) + b) and a depthwise convolution without bias: MossFormer2's FFConvM
/// (arXiv:2312.11825, §2.2).
///
/// In another layer's apply(), run() accepts an epilogue for this layer, as it does for Linear.
/// Shapes: x is N × C, y is N × out.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: 2·N·out·(C + K) flops.
template <class T>
struct ConvolutionalProjection : Layer<ConvolutionalProjection<T>> {
  using Config = ConvolutionalProjectionConfig;
  static constexpr const char* name = "ConvolutionalProjection";

  Activation activation = Activation::silu;
  Norm<T> norm;
  Linear<T> proj;
  DepthwiseConvolution<T> conv;

  ConvolutionalProjection() = default;
  explicit ConvolutionalProjection(const Config& c)
      : activation(c.activation),
        norm(c.channels, c.norm_eps, c.norm),
        proj(c.channels, c.out),
        conv({.channels = c.out, .kernel = c.kernel, .bias = false, .skip = true, .causal = c.causal}) {}
  ConvolutionalProjection(const Config& c, Random& random) : ConvolutionalProjection(c) { this->initialize(random); }

  static constexpr auto fields() {
    using P = ConvolutionalProjection;
    return Fields(field("norm", &P::norm), field("proj", &P::proj), field("conv", &P::conv));
  }

  Contract contract() const { return norm.contract().then(proj.contract()).then(conv.contract()); }

  auto apply(auto& run, auto x, auto then) const {
    auto z = run(proj, run(norm, std::move(x)), {.activation = activation});  // N × out
    return run(conv, std::move(z), std::move(then));                          // N × out
  }
};

}  // namespace gated
