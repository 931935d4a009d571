#pragma once

#include <cmath>
#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/ops/dynamic_convolution.hpp"
#include "gated/ops/gather.hpp"
#include "gated/ops/lightweight_convolution.hpp"

/// @file
/// Lightweight and dynamic convolutions over tokens.

namespace gated {

/// Where the taps of a convolution come from.
enum class ConvolutionForm {
  lightweight,  ///< learned, the same for all tokens
  dynamic       ///< predicted for each output token from that token's input
};

constexpr auto names_of(ConvolutionForm) { return words_for<ConvolutionForm>("lightweight", "dynamic"); }

/// The options of a lightweight or dynamic convolution.
struct LightweightConvolutionConfig {
  Index channels = 0;                                   ///< C
  Index heads = 1;                                      ///< H; each head has its own taps for C / H adjacent channels
  Index kernel = 3;                                     ///< K, number of taps; odd unless causal
  ConvolutionForm form = ConvolutionForm::lightweight;  ///< whether the taps are learned, or predicted per token
  bool softmax = true;                                  ///< applies a softmax over the K taps; fairseq's default is false
  bool score_bias = false;                              ///< adds a bias to the predicted taps, before the softmax
  bool bias = false;                                    ///< adds a bias to each output channel
  bool causal = false;                                  ///< the last tap reads the token itself; otherwise, the middle tap does

  template <class C = LightweightConvolutionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("heads", &C::heads), setting("kernel", &C::kernel),
                  setting("form", &C::form), setting("softmax", &C::softmax), setting("score_bias", &C::score_bias),
                  setting("bias", &C::bias), setting("causal", &C::causal));
  }
};

/// y[t, c] = b[c] + Σ_k w[t, h, k] · x[t + k - own, c] for the head h = ⌊c · H / C⌋, with own = K - 1 if causal, else ⌊K/2⌋
/// (arXiv:1901.10430). Lightweight (§3.1): w[t, h, ·] = softmax(W[h, ·]), the same for all t. Dynamic (§3.2): w[t, h, ·] =
/// softmax(W_h x[t] + s_h), where W_h and s_h are rows h·K … h·K + K - 1 of W and s.
///
/// x is zero outside the sequence of token t. The softmax covers all K taps, so near the ends of a sequence the taps inside it
/// sum to less than 1. Masked tokens are read as zeros. A stream remembers the last K - 1 tokens.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: 2·rows·C·K flops. The dynamic form adds 2·rows·C·H·K flops, and scratch for the taps: rows × (H·K) elements.
template <class T>
struct LightweightConvolution : Layer<LightweightConvolution<T>> {
  using Config = LightweightConvolutionConfig;
  static constexpr const char* name = "LightweightConvolution";
  static constexpr const char* architecture = "gated.LightweightConvolution";

  LightweightConvolutionConfig config;
  Matrix<T> weight;                 ///< W of the lightweight form: H × K
  std::optional<Linear<T>> scores;  ///< W and s of the dynamic form: H·K × C
  Vector<T> bias;                   ///< b: C, or empty

  LightweightConvolution() = default;
  explicit LightweightConvolution(const LightweightConvolutionConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.heads > 0, name, ": channels = ", c.channels, " and heads = ", c.heads,
                           " must be positive.");
    require<ArgumentError>(c.channels % c.heads == 0, name, ": heads = ", c.heads, " does not divide channels = ", c.channels,
                           ".");
    detail::expect_kernel(name, c.kernel, c.causal);
    require<ArgumentError>(!c.score_bias || c.form == ConvolutionForm::dynamic, name,
                           ": score_bias needs predicted taps. Set form = dynamic or score_bias = false.");
    if (c.form == ConvolutionForm::dynamic) {
      scores.emplace(c.channels, (Count(c.heads) * c.kernel).value(), c.score_bias);
    } else {
      weight = unset_weight<T>(c.heads, c.kernel, name);
    }
    require<ArgumentError>(Count(c.channels) * c.kernel * Index{sizeof(T)} != Count::most, name, ": ", c.channels,
                           " channels of ", c.kernel, " taps are too many.");
    bias = filled_vector<T>(T{0}, c.bias ? c.channels : 0, name);
  }
  LightweightConvolution(const LightweightConvolutionConfig& c, Random& random) : LightweightConvolution(c) {
    initialize(random);
  }

  static constexpr auto fields() {
    using L = LightweightConvolution;
    return Fields(field("weight", &L::weight, Role::spatial, &L::weight_shape), field("scores", &L::scores),
                  field("bias", &L::bias, Role::spatial));
  }
  /// The shape in which fairseq stores `weight`.
  Shape weight_shape() const { return {config.heads, 1, config.kernel}; }

  /// fairseq's initialization: W uniform in ±√(6 / (K (1 + H))); for predicted taps, W and s uniform in ±1 / √C; b = 0.
  void initialize(Random& random) {
    if (scores) {
      scores->initialize_as_pytorch(random);
    }
    fill_uniform(weight, std::sqrt(6 / (static_cast<double>(config.kernel) * static_cast<double>(1 + config.heads))), random);
    bias.setZero();
  }

  Contract contract() const {
    return {.in = config.channels, .out = config.channels, .sees = config.causal ? Sees::past : Sees::all, .takes_mask = true};
  }

  auto apply(auto& run, const auto& x, const auto& then) const {
    const Index own_tap = detail::own_tap_of(config.kernel, config.causal);
    const auto visible = clear_hidden_rows(run, x, run.mask());
    if (scores) {
      const DynamicTaps<T> taps{bias, config.heads, config.kernel, own_tap, config.softmax};
      return convolve_dynamic(run, visible, run(*scores, visible), taps, then);
    }
    expect_whole(name, weight.size() > 0);
    expect_set(run, "weight", weight);
    return convolve_lightweight(run, visible, LightweightTaps<T>{weight, bias, own_tap, config.softmax}, then);
  }
};

}  // namespace gated
