#pragma once

#include <optional>

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/token_mlp.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/ops/softmax_gate.hpp"

/// @file
/// MLPs with a softmax gate, over channels and over tokens: the mixers of PatchTSMixer and TinyTimeMixer.

namespace gated {

/// Where a softmax gate stands.
enum class GatePlace {
  none,    ///< nowhere
  before,  ///< y = MLP(g(x))
  after    ///< y = g(MLP(x))
};

constexpr auto names_of(GatePlace) { return words_for<GatePlace>("none", "before", "after"); }

namespace detail {

/// The values in an MLP of w → M → w numbers and its gate of w → w.
template <class T>
Count softmax_gated_values(Count width, Count hidden, GatePlace gate) {
  return Linear<T>::value_count(width, hidden) + Linear<T>::value_count(hidden, width) +
         (gate != GatePlace::none ? Linear<T>::value_count(width, width) : 0);
}

/// PyTorch's start of a layer's MLP and gate.
template <class Layer>
void initialize_softmax_gated(Layer& layer, Random& random) {
  layer.mlp.proj_in.initialize_as_pytorch(random);
  layer.mlp.proj_out.initialize_as_pytorch(random);
  if (layer.gate) {
    layer.gate->initialize_as_pytorch(random);
  }
}

/// The MLP of a layer, with its gate before or after it.
template <class Layer, class Run>
RowsOf<Run> run_softmax_gated(Run& run, const Layer& layer, GateAxis axis, const RowsOf<Run>& x,
                              const SoftmaxGateOptions<Run>& options, const PlaceOf<Run>& to) {
  const auto& config = layer.config;
  const auto gated = [&](const RowsOf<Run>& h, const SoftmaxGateOptions<Run>& joined, const PlaceOf<Run>& place) {
    return softmax_gate(run, h, run(*layer.gate, h), axis, joined, place);
  };
  const auto h = config.gate == GatePlace::before ? gated(x, {}, {}) : x;
  const auto hidden = run.dropout(run(layer.mlp.proj_in, h, {.activation = Activation::gelu}), config.dropout);
  const auto place = config.gate == GatePlace::after || options.residual ? PlaceOf<Run>() : to;
  const auto y = run.dropout(run(layer.mlp.proj_out, hidden, {}, place), config.dropout);
  if (config.gate == GatePlace::after) {
    return gated(y, options, to);
  }
  if (!options.residual) {
    return y;
  }
  if constexpr (!Run::records) {
    run.show(y);
  }
  return add(run, options.residual, y, nullptr, to);
}

}  // namespace detail

/// The options of a feed-forward with a softmax gate.
struct SoftmaxGatedFeedForwardConfig {
  Index channels = 0;                 ///< C
  Index hidden = 0;                   ///< F, between the projections; 0 for 2·C
  GatePlace gate = GatePlace::after;  ///< where the gate stands
  double dropout = 0;                 ///< training drops this share of the hidden numbers, and of what the MLP gives

  Index hidden_channels() const { return hidden > 0 ? hidden : (2 * Count(channels)).value(); }

  template <class C = SoftmaxGatedFeedForwardConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("gate", &C::gate),
                      setting("dropout", &C::dropout));
  }
};

/// y = g(W₂ gelu(W₁ x + b₁) + b₂) with g(h) = h ⊙ softmax(W h + b), token by token (arXiv:2306.09364, §3).
///
/// In a body, run(layer, x, {.residual = …}) adds a residual, in the gate's last pass where the gate stands after the MLP.
/// Shapes: x and y are N × C; y may be x.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: 2·N·C·(2·F + C) flops; scratch N × (F + 2·C).
template <class T>
struct SoftmaxGatedFeedForward : TokenLayer<SoftmaxGatedFeedForward<T>, T> {
  using Scalar = T;
  using Config = SoftmaxGatedFeedForwardConfig;
  template <class Run>
  using Options = SoftmaxGateOptions<Run>;
  static constexpr const char* name = "SoftmaxGatedFeedForward";
  static constexpr const char* architecture = "gated.SoftmaxGatedFeedForward";

  SoftmaxGatedFeedForwardConfig config;
  FeedForward<T> mlp;
  std::optional<Linear<T>> gate;  ///< W: C × C

  SoftmaxGatedFeedForward() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit SoftmaxGatedFeedForward(const Config& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.hidden >= 0, name, ": channels = ", c.channels,
                           " must be positive, and hidden = ", c.hidden, " not negative.");
    require<ArgumentError>(c.dropout >= 0 && c.dropout < 1, name, ": dropout = ", c.dropout, ", expected 0 ≤ dropout < 1.");
    mlp = FeedForward<T>({.channels = c.channels, .hidden = c.hidden_channels()});
    if (c.gate != GatePlace::none) {
      gate.emplace(c.channels, c.channels);
    }
  }
  /// With initial parameters, as initialize() draws them.
  SoftmaxGatedFeedForward(const Config& c, Random& random) : SoftmaxGatedFeedForward(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const Config& c) {
    return detail::softmax_gated_values<T>(c.channels, c.hidden > 0 ? Count(c.hidden) : 2 * Count(c.channels), c.gate);
  }

  static constexpr auto fields() {
    using L = SoftmaxGatedFeedForward;
    return std::tuple{field("mlp", &L::mlp), field("gate", &L::gate)};
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }

  /// PyTorch's start.
  void initialize(Random& random) { detail::initialize_softmax_gated(*this, random); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const SoftmaxGateOptions<Run>& options, const PlaceOf<Run>& to) const {
    return detail::run_softmax_gated(run, *this, GateAxis::channels, x, options, to);
  }
};

/// The options of an MLP over tokens with a softmax gate.
struct SoftmaxGatedTokenMlpConfig {
  Index channels = 0;                 ///< C
  Index length = 0;                   ///< N, tokens
  Index hidden = 0;                   ///< M, between the projections; 0 for 2·N
  GatePlace gate = GatePlace::after;  ///< where the gate stands
  double dropout = 0;                 ///< training drops this share of the hidden numbers, and of what the MLP gives

  Index hidden_tokens() const { return hidden > 0 ? hidden : 2 * length; }

  template <class C = SoftmaxGatedTokenMlpConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("length", &C::length), setting("hidden", &C::hidden),
                      setting("gate", &C::gate), setting("dropout", &C::dropout));
  }
};

/// The same over the tokens of each sequence, for each channel alike: g(h) = h ⊙ softmax(W h + b) over N tokens.
///
/// In a body, run(layer, x, {.residual = …}) adds a residual, in the gate's last pass where the gate stands after the MLP.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built and for a stream, since every token sees all; ShapeError for a sequence that is not N long.
/// Cost: 2·N·C·(2·M + N) flops per sequence; scratch (M + 2·N) × C for each.
template <class T>
struct SoftmaxGatedTokenMlp : SequenceLayer<SoftmaxGatedTokenMlp<T>, T> {
  using Scalar = T;
  using Config = SoftmaxGatedTokenMlpConfig;
  template <class Run>
  using Options = SoftmaxGateOptions<Run>;
  static constexpr const char* name = "SoftmaxGatedTokenMlp";
  static constexpr const char* architecture = "gated.SoftmaxGatedTokenMlp";

  SoftmaxGatedTokenMlpConfig config;
  TokenMlp<T> mlp;
  std::optional<SpatialProjection<T>> gate;  ///< W: N × N

  SoftmaxGatedTokenMlp() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit SoftmaxGatedTokenMlp(const Config& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.length > 0 && c.hidden >= 0, name, ": channels = ", c.channels,
                           " and length = ", c.length, " must be positive, and hidden = ", c.hidden, " not negative.");
    require<ArgumentError>(c.dropout >= 0 && c.dropout < 1, name, ": dropout = ", c.dropout, ", expected 0 ≤ dropout < 1.");
    mlp = TokenMlp<T>({.channels = c.channels, .length = c.length, .hidden = c.hidden_tokens()});
    if (c.gate != GatePlace::none) {
      gate.emplace(SpatialProjectionConfig{.length = c.length});
      gate->bias.setZero();
    }
  }
  /// With initial parameters, as initialize() draws them.
  SoftmaxGatedTokenMlp(const Config& c, Random& random) : SoftmaxGatedTokenMlp(c) { initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const Config& c) {
    return detail::softmax_gated_values<T>(c.length, c.hidden > 0 ? Count(c.hidden) : 2 * Count(c.length), c.gate);
  }

  static constexpr auto fields() {
    using L = SoftmaxGatedTokenMlp;
    return std::tuple{field("mlp", &L::mlp), field("gate", &L::gate)};
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  Index longest() const { return config.length; }
  void check(Where where, const Sequences& sequences, Mask mask) const { mlp.check(where, sequences, mask); }

  /// PyTorch's start.
  void initialize(Random& random) { detail::initialize_softmax_gated(*this, random); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const SoftmaxGateOptions<Run>& options, const PlaceOf<Run>& to) const {
    return detail::run_softmax_gated(run, *this, GateAxis::tokens, x, options, to);
  }
};

}  // namespace gated
