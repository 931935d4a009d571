#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"

/// @file
/// The feed-forward of a Transformer or MLP-Mixer: an MLP over the channels of each token.

namespace gated {

/// The options of a feed-forward.
struct FeedForwardConfig {
  Index channels = 0;                        ///< C, of the input
  Index hidden = 0;                          ///< F, between the projections; 0 for 4·C
  Index out = 0;                             ///< channels of the output; 0 for C
  Activation activation = Activation::gelu;  ///< between the projections
  bool bias = true;                          ///< of both projections

  Index hidden_channels() const { return hidden > 0 ? hidden : (4 * Count(channels)).value(); }
  Index out_channels() const { return out > 0 ? out : channels; }

  template <class C = FeedForwardConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("out", &C::out),
                      setting("activation", &C::activation), setting("bias", &C::bias));
  }
};

/// y = W₂ act(W₁ x + b₁) + b₂, token by token (arXiv:1706.03762, §3.3).
///
/// In a body, run(layer, x, {.residual = …}) fuses what follows into the last product: see Fused.
/// Shapes: x is N × C, y is N × out; y may be x.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: 2·N·F·(C + out) flops; scratch N × F.
template <class T>
struct FeedForward : TokenLayer<FeedForward<T>, T> {
  using Scalar = T;
  using Config = FeedForwardConfig;
  template <class Run>
  using Options = Fused<Run>;
  static constexpr const char* name = "FeedForward";
  static constexpr const char* architecture = "gated.FeedForward";

  FeedForwardConfig config;
  Linear<T> proj_in;   ///< W₁: F × C
  Linear<T> proj_out;  ///< W₂: out × F

  FeedForward() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit FeedForward(const FeedForwardConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.hidden >= 0 && c.out >= 0, name, ": channels = ", c.channels,
                           " must be positive, and hidden = ", c.hidden, " and out = ", c.out, " must not be negative.");
    proj_in = Linear<T>(c.channels, c.hidden_channels(), c.bias);
    proj_out = Linear<T>(c.hidden_channels(), c.out_channels(), c.bias);
  }
  /// With initial parameters, as initialize() draws them.
  FeedForward(const FeedForwardConfig& c, Random& random) : FeedForward(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const FeedForwardConfig& c) {
    const Count hidden = c.hidden > 0 ? Count(c.hidden) : 4 * Count(c.channels);
    return Linear<T>::value_count(c.channels, hidden, c.bias) + Linear<T>::value_count(hidden, c.out_channels(), c.bias);
  }

  static constexpr auto fields() {
    return std::tuple{field("proj_in", &FeedForward::proj_in), field("proj_out", &FeedForward::proj_out)};
  }

  Index in() const { return config.channels; }
  Index out() const { return config.out_channels(); }
  void initialize(Random& random) { initialize_sublayers(*this, random); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Fused<Run>& fused, const PlaceOf<Run>& to) const {
    const auto hidden = run(proj_in, x, {.activation = config.activation});  // N × F
    return run(proj_out, hidden, fused, to);                                 // N × out
  }
};

}  // namespace gated
