#pragma once

#include <cmath>
#include <optional>
#include <utility>

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/lightweight_convolution.hpp"
#include "gated/layers/mixer_block.hpp"

/// @file
/// The token mixer of LightConv and DynamicConv models, and their block.

namespace gated {

/// The options of a gated lightweight or dynamic convolution.
struct LightConvConfig {
  Index channels = 0;                                   ///< C
  Index hidden = 0;                                     ///< D, channels of the convolution; 0 for C
  Index heads = 1;                                      ///< H; each head has its own taps for D / H adjacent channels
  Index kernel = 3;                                     ///< K, number of taps; odd unless causal
  ConvolutionForm form = ConvolutionForm::lightweight;  ///< whether the taps are learned, or predicted per token
  bool glu = true;                                      ///< gates the convolution's input with a sigmoid
  bool softmax = true;                                  ///< applies a softmax over the K taps
  bool causal = false;                                  ///< no token sees a later one

  Index hidden_channels() const { return hidden > 0 ? hidden : channels; }
  LightweightConvolutionConfig convolution() const {
    return {
        .channels = hidden_channels(), .heads = heads, .kernel = kernel, .form = form, .softmax = softmax, .causal = causal};
  }

  template <class C = LightConvConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("heads", &C::heads),
                  setting("kernel", &C::kernel), setting("form", &C::form), setting("glu", &C::glu),
                  setting("softmax", &C::softmax), setting("causal", &C::causal));
  }
};

/// y = W₂ conv(u) + b₂ with u = (W₁ x + b₁) ⊙ σ(W_g x + b_g) (arXiv:1901.10430, §3.3), or u = W₁ x + b₁ without a gate. See
/// LightweightConvolution. For masked tokens, u is 0.
///
/// Shapes: x and y are rows × C; W₁ and W_g are D × C, W₂ is C × D.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: 2·rows·C·D flops per projection (three, or two without a gate), plus the convolution's. Scratch: rows × D elements.
/// A stream's state has (K - 1)·D elements.
template <class T>
struct LightConv : Layer<LightConv<T>> {
  using Config = LightConvConfig;
  static constexpr const char* name = "LightConv";
  static constexpr const char* architecture = "gated.LightConv";

  LightConvConfig config;
  Linear<T> proj_in;              ///< W₁
  std::optional<Linear<T>> gate;  ///< W_g
  LightweightConvolution<T> conv;
  Linear<T> proj_out;  ///< W₂

  LightConv() = default;
  explicit LightConv(const LightConvConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.hidden >= 0, name, ": channels = ", c.channels,
                           " must be positive, and hidden = ", c.hidden, " must not be negative.");
    conv = LightweightConvolution<T>(c.convolution());
    proj_in = Linear<T>(c.channels, c.hidden_channels());
    if (c.glu) {
      gate.emplace(c.channels, c.hidden_channels());
    }
    proj_out = Linear<T>(c.hidden_channels(), c.channels);
  }
  LightConv(const LightConvConfig& c, Random& random) : LightConv(c) { initialize(random); }

  static constexpr auto fields() {
    return Fields(field("proj_in", &LightConv::proj_in), field("gate", &LightConv::gate), field("conv", &LightConv::conv),
                  field("proj_out", &LightConv::proj_out));
  }

  /// fairseq's initialization: Xavier-uniform projections (W₁ and W_g count as one matrix), and biases of 0.
  void initialize(Random& random) {
    initialize_sublayers(*this, random);
    for (Linear<T>* const linear : {&proj_in, gate ? &*gate : nullptr, &proj_out}) {
      if (linear != nullptr) {
        linear->bias.setZero();
      }
    }
    if (gate) {
      const double bound = std::sqrt(6.0 / static_cast<double>(config.channels + 2 * config.hidden_channels()));
      fill_uniform(proj_in.weight, bound, random);
      fill_uniform(gate->weight, bound, random);
    }
  }

  Contract contract() const { return proj_in.contract().then(conv.contract()).then(proj_out.contract()); }

  auto apply(auto& run, auto x, auto then) const {
    if (!gate) {
      return run(proj_out, run(conv, run(proj_in, std::move(x))), std::move(then));
    }
    auto g = run(*gate, x, {.activation = Activation::sigmoid});
    auto u = run(proj_in, std::move(x), {.gate = std::move(g)});  // overwrites g
    return run(proj_out, run(conv, std::move(u)), std::move(then));
  }
};

/// The block of LightConv and DynamicConv models (arXiv:1901.10430): h = x + mixer(LN(x)), y = h + W₂ act(W₁ LN(h)). The
/// defaults are pre-norm and GELU; the published models use post-norm and `Activation::relu`. See MixerBlock.
///
///     LightConvBlock<float> block({.channels = 512,
///                                  .token_mixer = {.heads = 8, .kernel = 31, .form = ConvolutionForm::dynamic},
///                                  .channel_mixer = {.activation = Activation::relu}});
template <class T>
using LightConvBlock = MixerBlock<LightConv<T>, FeedForward<T>>;
/// The options of a LightConvBlock.
using LightConvBlockConfig = MixerBlockConfig<LightConvConfig, FeedForwardConfig>;

}  // namespace gated
