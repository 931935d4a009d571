#pragma once

#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/branch.hpp"
#include "gated/layers/convolutional_gating.hpp"
#include "gated/layers/feed_forward.hpp"
#include "gated/layers/relative_attention.hpp"
#include "gated/ops/gather.hpp"

/// @file
/// The encoder layer of E-Branchformer: attention in parallel with a convolutional gating MLP.

namespace gated {

/// The options of an E-Branchformer layer. The defaults are ESPnet's.
struct BranchformerLayerConfig {
  Index channels = 0;                                 ///< C
  Index heads = 8;                                    ///< h, attention heads
  ScorePosition position = ScorePosition::offset;     ///< position dependence of the attention scores
  Index hidden = 0;                                   ///< F, hidden width of the feed-forwards; 0 for 4·C
  Index gate_hidden = 0;                              ///< U, hidden width of the gating MLP; 0 for 6·C
  Index gate_kernel = 31;                             ///< K, taps of the gate's convolution
  Index merge_kernel = 31;                            ///< M, taps of the merging convolution
  bool macaron = true;                                ///< adds a first feed-forward; both feed-forwards are then scaled by ½
  bool feed_forward = true;                           ///< adds a last feed-forward
  bool causal = false;                                ///< no convolution reads a later token
  bool causal_attention = false;                      ///< no attention to later tokens; streaming also needs `causal`
  bool norm_before_padding = true;                    ///< option of the gate: see ConvolutionalGatingConfig
  bool linear_after_convolution = false;              ///< option of the gate: see ConvolutionalGatingConfig
  Activation gate_activation = Activation::identity;  ///< activation of the gate
  double norm_eps = 1e-12;                            ///< ε of all norms; WeNet uses 1e-5

  RelativeAttentionConfig attention() const {
    return {.channels = channels, .heads = heads, .position = position, .causal = causal_attention};
  }
  ConvolutionalGatingConfig gating() const {
    return {.channels = channels,
            .hidden = gate_hidden > 0 ? gate_hidden : (6 * Count(channels)).value(),
            .kernel = gate_kernel,
            .causal = causal,
            .norm_before_padding = norm_before_padding,
            .linear_after_convolution = linear_after_convolution,
            .gate_activation = gate_activation,
            .norm_eps = norm_eps};
  }
  DepthwiseConvolutionConfig merging() const {
    return {.channels = (2 * Count(channels)).value(), .kernel = merge_kernel, .skip = true, .causal = causal};
  }
  FeedForwardConfig feed_forward_config() const {
    return {.channels = channels, .hidden = hidden, .activation = Activation::silu};
  }
  /// The options of the residual branch around a feed-forward.
  BranchOptions branch() const { return {.channels = channels, .norm_eps = norm_eps, .factor = macaron ? 0.5 : 1.0}; }

  template <class C = BranchformerLayerConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("heads", &C::heads), setting("position", &C::position),
                  setting("hidden", &C::hidden), setting("gate_hidden", &C::gate_hidden),
                  setting("gate_kernel", &C::gate_kernel), setting("merge_kernel", &C::merge_kernel),
                  setting("macaron", &C::macaron), setting("feed_forward", &C::feed_forward), setting("causal", &C::causal),
                  setting("causal_attention", &C::causal_attention), setting("norm_before_padding", &C::norm_before_padding),
                  setting("linear_after_convolution", &C::linear_after_convolution),
                  setting("gate_activation", &C::gate_activation), setting("norm_eps", &C::norm_eps));
  }
};

/// An encoder layer of E-Branchformer (arXiv:2210.00077, §2): global attention and local gating in parallel, merged by a
/// convolution.
///
///     x ← x + ½ FF(LN(x))                         only with `macaron`
///     m = [attention(LN(x)) | cgMLP(LN(x))]
///     x ← x + W (m + conv(m)) + b
///     x ← x + ½ FF(LN(x))                         only with `feed_forward`; without `macaron`, the factor is 1
///     y = LN(x)
///
/// FF is a FeedForward with SiLU, the attention is a RelativeAttention, cgMLP a ConvolutionalGatingMlp, and conv a depthwise
/// convolution of the 2C channels of m.
///
/// **Masks.** Only the attention uses the mask: both convolutions read masked tokens, and the outputs of masked tokens are
/// computed like any others. ESPnet and WeNet treat padding the same way, so their outputs for the last tokens of a shorter
/// sequence in a batch depend on the padding. Ragged sequences have no padding: each has the same result alone and in a batch.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or a stream without `causal`, `causal_attention` or a capacity; ShapeError.
/// Cost: see RelativeAttention, ConvolutionalGatingMlp and FeedForward. The merge adds 4·rows·C·(C + M) flops.
template <class T>
struct BranchformerLayer : Layer<BranchformerLayer<T>> {
  using Config = BranchformerLayerConfig;
  static constexpr const char* name = "BranchformerLayer";
  static constexpr const char* architecture = "gated.BranchformerLayer";

  Config config;
  std::optional<Branch<FeedForward<T>>> macaron;  ///< the first feed-forward
  Norm<T> attention_norm;
  RelativeAttention<T> attention;
  Norm<T> gating_norm;
  ConvolutionalGatingMlp<T> gating;
  DepthwiseConvolution<T> merge_conv;                  ///< 2C channels; adds its input to its output
  Linear<T> merge_proj;                                ///< W, b: C × 2C
  std::optional<Branch<FeedForward<T>>> feed_forward;  ///< the last feed-forward
  Norm<T> norm;

  BranchformerLayer() = default;
  explicit BranchformerLayer(const Config& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.gate_hidden >= 0, name, ": channels = ", c.channels,
                           " must be positive, and gate_hidden = ", c.gate_hidden, " must not be negative.");
    if (c.macaron) {
      macaron.emplace(c.branch(), c.feed_forward_config());
    }
    attention_norm = gating_norm = norm = Norm<T>(c.channels, c.norm_eps);
    attention = RelativeAttention<T>(c.attention());
    gating = ConvolutionalGatingMlp<T>(c.gating());
    merge_conv = DepthwiseConvolution<T>(c.merging());
    merge_proj = Linear<T>(2 * c.channels, c.channels);
    if (c.feed_forward) {
      feed_forward.emplace(c.branch(), c.feed_forward_config());
    }
  }
  BranchformerLayer(const Config& c, Random& random) : BranchformerLayer(c) { this->initialize(random); }

  static constexpr auto fields() {
    using L = BranchformerLayer;
    return Fields(field("macaron", &L::macaron), field("attention_norm", &L::attention_norm), field("attention", &L::attention),
                  field("gating_norm", &L::gating_norm), field("gating", &L::gating), field("merge_conv", &L::merge_conv),
                  field("merge_proj", &L::merge_proj), field("feed_forward", &L::feed_forward), field("norm", &L::norm));
  }

  Contract contract() const {
    Contract all = norm.contract().with(attention.contract()).with(gating.contract()).with(merge_conv.contract());
    all.takes_mask = attention.contract().takes_mask;  // only the attention hides masked tokens, as in ESPnet and WeNet
    return all;
  }

  auto apply(auto& run, auto x) const {
    if (macaron) {
      x = run(*macaron, std::move(x));
    }
    auto attended = run(attention, run(attention_norm, x));               // N × C
    auto gated = run(gating, run(gating_norm, x));                        // N × C
    auto both = concatenate(run, std::move(attended), std::move(gated));  // N × 2C
    x = run(merge_proj, run(merge_conv, std::move(both)), {.residual = std::move(x)});
    if (feed_forward) {
      x = run(*feed_forward, std::move(x));
    }
    return run(norm, std::move(x));
  }
};

}  // namespace gated
