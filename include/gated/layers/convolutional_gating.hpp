#pragma once

#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/depthwise_convolution.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/ops/depthwise_start.hpp"
#include "gated/ops/join.hpp"

/// @file
/// cgMLP, the convolutional gating MLP of Branchformer and E-Branchformer: a gMLP whose gate convolves the tokens.

namespace gated {

/// The options of a convolutional gating MLP.
struct ConvolutionalGatingConfig {
  Index channels = 0;                                 ///< C, channels of the input and the output
  Index hidden = 0;                                   ///< F, width between the projections; the gate is F/2 wide
  Index kernel = 31;                                  ///< K, taps; odd unless causal
  bool causal = false;                                ///< a token reads the K - 1 tokens before it and no later ones
  bool norm_before_padding = true;                    ///< true: zero padding after the norm; false (WeNet, causal only):
                                                      ///< zero padding before the norm, which maps zeros to its bias
  bool linear_after_convolution = false;              ///< adds a linear layer after the convolution: W_g (F/2 × F/2), b_g
  Activation gate_activation = Activation::identity;  ///< activation of the gate, applied last
  double norm_eps = 1e-5;                             ///< ε of the gate's norm: 1e-5 in WeNet, 1e-12 in ESPnet

  template <class C = ConvolutionalGatingConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("kernel", &C::kernel),
                  setting("causal", &C::causal), setting("norm_before_padding", &C::norm_before_padding),
                  setting("linear_after_convolution", &C::linear_after_convolution),
                  setting("gate_activation", &C::gate_activation), setting("norm_eps", &C::norm_eps));
  }
};

/// y = a ⊙ act(W_g conv(LN(g)) + b_g) for the halves [a | g] of x: the Convolutional Spatial Gating Unit (arXiv:2207.02971,
/// §3.3). W_g and b_g are optional.
///
/// Mixes tokens with a depthwise convolution of K taps; a stream remembers K - 1 tokens. Masks are not supported: the unit
/// reads padding inside a sequence like any other token.
/// Shapes: x is N × F, y is N × F/2.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: N·F·K flops, plus N·F²/2 with W_g.
template <class T>
struct ConvolutionalGatingUnit : Layer<ConvolutionalGatingUnit<T>> {
  using Config = ConvolutionalGatingConfig;
  static constexpr const char* name = "ConvolutionalGatingUnit";

  Activation activation = Activation::identity;
  bool norm_before_padding = true;
  Norm<T> norm;
  DepthwiseConvolution<T> conv;
  std::optional<Linear<T>> linear;  ///< W_g, b_g

  ConvolutionalGatingUnit() = default;
  explicit ConvolutionalGatingUnit(const Config& c)
      : activation(c.gate_activation), norm_before_padding(c.norm_before_padding) {
    require<ArgumentError>(c.hidden > 0 && c.hidden % 2 == 0, name, ": hidden = ", c.hidden,
                           ", expected a positive even number: one half gates the other.");
    require<ArgumentError>(c.norm_before_padding || c.causal, name,
                           ": norm_before_padding = false needs causal = true, which pads only before the first token.");
    const Index half = c.hidden / 2;
    norm = Norm<T>(half, c.norm_eps);
    conv = DepthwiseConvolution<T>({.channels = half, .kernel = c.kernel, .causal = c.causal});
    if (c.linear_after_convolution) {
      linear.emplace(half, half);
    }
  }

  static constexpr auto fields() {
    using U = ConvolutionalGatingUnit;
    return Fields(field("norm", &U::norm), field("conv", &U::conv), field("linear", &U::linear));
  }

  /// ESPnet's initialization: weights from N(0, (1e-6)²) and biases of 1. Training starts from y = act(1) · a.
  void initialize(Random& random) {
    fill_normal(conv.weight, 1e-6, random);
    conv.bias.setOnes();
    if (linear) {
      fill_normal(linear->weight, 1e-6, random);
      linear->bias.setOnes();
    }
  }

  Contract contract() const { return {.in = 2 * norm.channels, .out = norm.channels, .sees = conv.contract().sees}; }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    auto [a, g] = run.split(std::move(x), norm.channels, norm.channels);
    auto normed = run(norm, std::move(g));  // N × F/2
    Epilogue<Run> gating{.activation = activation, .gate = std::move(a)};
    if (norm_before_padding && !linear) {
      return run(conv, std::move(normed), std::move(gating));
    }
    auto convolved = run(conv, std::move(normed));
    if (!norm_before_padding) {  // LN maps a padding row of zeros to the norm's bias
      convolved = pad_start(run, std::move(convolved), conv.parameters(), norm.bias);
    }
    return linear ? run(*linear, std::move(convolved), std::move(gating)) : join(run, std::move(convolved), std::move(gating));
  }
};

/// y = W₂ unit(GELU(W₁ x + b₁)) + b₂ with a ConvolutionalGatingUnit: the cgMLP of arXiv:2207.02971 and arXiv:2210.00077.
/// Shapes: x and y are N × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: 3·N·C·F flops, plus the unit's. Scratch: N·F elements.
template <class T>
struct ConvolutionalGatingMlp : Layer<ConvolutionalGatingMlp<T>> {
  using Config = ConvolutionalGatingConfig;
  static constexpr const char* name = "ConvolutionalGatingMlp";
  static constexpr const char* architecture = "gated.ConvolutionalGatingMlp";

  Config config;
  Linear<T> proj_in;  ///< W₁: F × C
  ConvolutionalGatingUnit<T> gate;
  Linear<T> proj_out;  ///< W₂: C × F/2

  ConvolutionalGatingMlp() = default;
  explicit ConvolutionalGatingMlp(const Config& c) : config(c), gate(c) {
    require<ArgumentError>(c.channels > 0, name, ": channels = ", c.channels, " must be positive.");
    proj_in = Linear<T>(c.channels, c.hidden);
    proj_out = Linear<T>(c.hidden / 2, c.channels);
  }
  ConvolutionalGatingMlp(const Config& c, Random& random) : ConvolutionalGatingMlp(c) { this->initialize(random); }

  static constexpr auto fields() {
    using M = ConvolutionalGatingMlp;
    return Fields(field("proj_in", &M::proj_in), field("gate", &M::gate), field("proj_out", &M::proj_out));
  }

  Contract contract() const { return proj_in.contract().then(gate.contract()).then(proj_out.contract()); }

  auto apply(auto& run, auto x, auto then) const {
    auto hidden = run(proj_in, std::move(x), {.activation = Activation::gelu});  // N × F
    return run(proj_out, run(gate, std::move(hidden)), std::move(then));         // N × C
  }
};

}  // namespace gated
