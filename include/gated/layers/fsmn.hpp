#pragma once

#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/depthwise_convolution.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/prelu.hpp"
#include "gated/layers/sequence_norm.hpp"
#include "gated/ops/gather.hpp"

/// @file
/// Feedforward sequential memory networks (FSMN): memory through a convolution over the tokens instead of recurrence.

namespace gated {

/// The options of an FSMN.
struct FsmnConfig {
  Index channels = 0;    ///< C
  Index hidden = 0;      ///< hidden width of the feed-forward part; 0 for C
  Index order = 20;      ///< l; convolutions have 2·l - 1 centred taps, or if causal, l taps that end at the token
  bool dilated = false;  ///< replaces the convolution by a DilatedMemory
  bool causal = false;   ///< no token sees a later one; cannot be combined with `dilated`

  Index hidden_width() const { return hidden > 0 ? hidden : channels; }
  /// K, the number of taps of each convolution.
  Index kernel() const { return causal ? order : (2 * Count(order)).value() - 1; }

  template <class C = FsmnConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("order", &C::order),
                  setting("dilated", &C::dilated), setting("causal", &C::causal));
  }
};

/// y = act(norm(conv2([act(norm(conv1(x))) | x]))): two densely connected depthwise convolutions. The second has dilation 2
/// and two input channels per output channel. The norms are instance norms over the sequence, and act is a PReLU
/// (MossFormer2's DilatedDenseNet).
///
/// Shapes: x and y are N × C.
/// Errors: ArgumentError if streamed.
/// Cost: 6·N·C·K flops for K taps.
template <class T>
struct DilatedMemory : Layer<DilatedMemory<T>> {
  static constexpr const char* name = "DilatedMemory";

  DepthwiseConvolution<T> conv1, conv2;
  SequenceNorm<T> norm1, norm2;
  Prelu<T> prelu1, prelu2;

  DilatedMemory() = default;
  DilatedMemory(Index channels, Index kernel)
      : conv1({.channels = channels, .kernel = kernel, .bias = false}),
        conv2({.channels = channels, .kernel = kernel, .dilation = 2, .inputs = 2, .bias = false}),
        norm1(channels, TokenNormForm::instance),
        norm2(channels, TokenNormForm::instance),
        prelu1(channels, true),
        prelu2(channels, true) {}

  static constexpr auto fields() {
    using M = DilatedMemory;
    return Fields(field("conv1", &M::conv1), field("norm1", &M::norm1), field("prelu1", &M::prelu1), field("conv2", &M::conv2),
                  field("norm2", &M::norm2), field("prelu2", &M::prelu2));
  }

  Contract contract() const { return conv1.contract().with(norm1.contract()); }

  auto apply(auto& run, auto x) const {
    auto first = run(prelu1, run(norm1, run(conv1, x)));                         // N × C
    auto second = run(conv2, concatenate(run, std::move(first), std::move(x)));  // N × C
    return run(prelu2, run(norm2, std::move(second)));
  }
};

/// y = x + p + conv(p) with p = W₂ relu(W₁ x + b₁): a feed-forward layer and a depthwise convolution over the tokens (FSMN,
/// arXiv:1512.08301; MossFormer2's UniDeepFsmn). With `dilated`, y = x + memory(p), where memory is a DilatedMemory.
///
/// Shapes: x and y are N × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: 4·N·C·hidden + 2·N·C·K flops for K = kernel() taps, or 4·N·C·hidden + 6·N·C·K with `dilated`.
template <class T>
struct Fsmn : Layer<Fsmn<T>> {
  using Config = FsmnConfig;
  static constexpr const char* name = "Fsmn";

  Config config;
  Linear<T> proj_in;   ///< W₁: C → hidden
  Linear<T> proj_out;  ///< W₂: hidden → C, without bias
  std::optional<DepthwiseConvolution<T>> conv;
  std::optional<DilatedMemory<T>> memory;

  Fsmn() = default;
  explicit Fsmn(const Config& c)
      : config(c), proj_in(c.channels, c.hidden_width()), proj_out(c.hidden_width(), c.channels, false) {
    require<ArgumentError>(c.order > 0 && c.hidden >= 0, name, ": order = ", c.order,
                           " must be positive, and hidden = ", c.hidden, " must not be negative.");
    require<ArgumentError>(!c.dilated || !c.causal, name,
                           ": the dilated form normalizes over the whole sequence, so it cannot be causal. Set dilated "
                           "= false or causal = false.");
    if (c.dilated) {
      memory.emplace(c.channels, c.kernel());
    } else {
      conv.emplace(DepthwiseConvolutionConfig{
          .channels = c.channels, .kernel = c.kernel(), .bias = false, .skip = true, .causal = c.causal});
    }
  }
  Fsmn(const Config& c, Random& random) : Fsmn(c) { this->initialize(random); }

  static constexpr auto fields() {
    return Fields(field("proj_in", &Fsmn::proj_in), field("proj_out", &Fsmn::proj_out), field("conv", &Fsmn::conv),
                  field("memory", &Fsmn::memory));
  }

  Contract contract() const {
    return proj_in.contract().then(proj_out.contract()).then(memory ? memory->contract() : conv->contract());
  }

  auto apply(auto& run, auto x) const {
    auto p = run(proj_out, run(proj_in, x, {.activation = Activation::relu}));  // N × C
    return memory ? run(*memory, std::move(p), {.residual = std::move(x)})
                  : run(*conv, std::move(p), {.residual = std::move(x)});
  }
};

}  // namespace gated
