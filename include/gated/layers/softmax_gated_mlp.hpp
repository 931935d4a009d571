#pragma once

#include <optional>
#include <utility>

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/token_mlp.hpp"
#include "gated/ops/softmax_gate.hpp"

/// @file
/// MLPs with a softmax gate, over channels and over tokens: the mixers of PatchTSMixer and TinyTimeMixer.

namespace gated {

/// The position of a softmax gate.
enum class GatePlace {
  none,    ///< no gate
  before,  ///< y = MLP(g(x))
  after    ///< y = g(MLP(x))
};

constexpr auto names_of(GatePlace) { return words_for<GatePlace>("none", "before", "after"); }

/// y = g(W₂ gelu(W₁ x + b₁) + b₂) with g(h) = h ⊙ softmax(W h + b) (arXiv:2306.09364, §3), or with the gate before the MLP
/// (GatePlace). The configuration defines the MLP and the gate's projection. Both run over the channels of each token
/// (SoftmaxGatedFeedForward) or over the tokens of each channel (SoftmaxGatedTokenMlp).
///
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes.
/// Cost: that of the MLP and the gate's projection. Scratch: the hidden activations, plus 2·rows·C elements.
template <class T, class ConfigType>
struct SoftmaxGated : Layer<SoftmaxGated<T, ConfigType>> {
  using Config = ConfigType;
  using Inner = Mlp<T, decltype(std::declval<const Config&>().mlp())>;
  static constexpr const char* name = Config::layer_name;
  static constexpr const char* architecture = Config::architecture;

  Config config;
  Inner mlp;
  std::optional<typename Inner::Projection> gate;  ///< W

  SoftmaxGated() = default;
  explicit SoftmaxGated(const Config& c) : config(c.checked()), mlp(c.mlp()) {
    require<ArgumentError>(c.dropout >= 0 && c.dropout < 1, name, ": dropout = ", c.dropout, ", expected 0 ≤ dropout < 1.");
    if (c.gate != GatePlace::none) {
      gate.emplace(c.template gate_projection<T>());
    }
  }
  SoftmaxGated(const Config& c, Random& random) : SoftmaxGated(c) { this->initialize(random); }

  static constexpr auto fields() { return Fields(field("mlp", &SoftmaxGated::mlp), field("gate", &SoftmaxGated::gate)); }

  Contract contract() const { return mlp.contract(); }

  /// PyTorch's default initialization of linear layers.
  void initialize(Random& random) {
    mlp.proj_in.initialize_as_pytorch(random);
    mlp.proj_out.initialize_as_pytorch(random);
    if (gate) {
      gate->initialize_as_pytorch(random);
    }
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x, Epilogue<Run> then) const {
    const auto gated = [&](MatrixOf<Run> h, Epilogue<Run> joined) {
      auto z = run(*gate, h);
      return softmax_gate(run, std::move(h), std::move(z), Config::gate_axis, std::move(joined));
    };
    auto h = config.gate == GatePlace::before ? gated(std::move(x), {}) : std::move(x);
    auto hidden = run.dropout(run(mlp.proj_in, std::move(h), {.activation = mlp.config.activation}), config.dropout);
    if (config.gate != GatePlace::after && config.dropout == 0) {
      return run(mlp.proj_out, std::move(hidden), std::move(then));
    }
    auto y = run.dropout(run(mlp.proj_out, std::move(hidden)), config.dropout);
    return config.gate == GatePlace::after ? gated(std::move(y), std::move(then)) : join(run, std::move(y), std::move(then));
  }
};

/// The options of a feed-forward layer with a softmax gate.
struct SoftmaxGatedFeedForwardConfig {
  static constexpr const char* layer_name = "SoftmaxGatedFeedForward";          ///< layer name in error messages
  static constexpr const char* architecture = "gated.SoftmaxGatedFeedForward";  ///< layer type in model files
  static constexpr GateAxis gate_axis = GateAxis::channels;                     ///< the axis of the softmax

  Index channels = 0;                 ///< C
  Index hidden = 0;                   ///< F, width between the projections; 0 for 2·C
  GatePlace gate = GatePlace::after;  ///< position of the gate
  double dropout = 0;                 ///< dropout on the hidden activations and on the MLP's output, in training

  const SoftmaxGatedFeedForwardConfig& checked() const {
    require<ArgumentError>(channels > 0 && hidden >= 0, layer_name, ": channels = ", channels,
                           " must be positive, and hidden = ", hidden, " must not be negative.");
    return *this;
  }
  FeedForwardConfig mlp() const {
    return {.channels = channels, .hidden = hidden > 0 ? hidden : (2 * Count(channels)).value()};
  }
  template <class T>
  Linear<T> gate_projection() const {
    return {channels, channels};
  }

  template <class C = SoftmaxGatedFeedForwardConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("hidden", &C::hidden), setting("gate", &C::gate),
                  setting("dropout", &C::dropout));
  }
};

/// The options of an MLP over tokens with a softmax gate.
struct SoftmaxGatedTokenMlpConfig {
  static constexpr const char* layer_name = "SoftmaxGatedTokenMlp";          ///< layer name in error messages
  static constexpr const char* architecture = "gated.SoftmaxGatedTokenMlp";  ///< layer type in model files
  static constexpr GateAxis gate_axis = GateAxis::tokens;                    ///< the axis of the softmax

  Index channels = 0;                 ///< C
  Index length = 0;                   ///< N, tokens
  Index hidden = 0;                   ///< M, width between the projections; 0 for 2·N
  GatePlace gate = GatePlace::after;  ///< position of the gate
  double dropout = 0;                 ///< dropout on the hidden activations and on the MLP's output, in training

  const SoftmaxGatedTokenMlpConfig& checked() const {
    require<ArgumentError>(channels > 0 && length > 0 && hidden >= 0, layer_name, ": channels = ", channels,
                           " and length = ", length, " must be positive, and hidden = ", hidden, " must not be negative.");
    return *this;
  }
  TokenMlpConfig mlp() const {
    return {.channels = channels, .length = length, .hidden = hidden > 0 ? hidden : (2 * Count(length)).value()};
  }
  template <class T>
  SpatialProjection<T> gate_projection() const {
    return SpatialProjection<T>::linear({.length = length});
  }

  template <class C = SoftmaxGatedTokenMlpConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("length", &C::length), setting("hidden", &C::hidden),
                  setting("gate", &C::gate), setting("dropout", &C::dropout));
  }
};

/// An MLP with a softmax gate over the channels of each token.
/// Cost, for N tokens: 2·N·C·(2·F + C) flops. Scratch: N·(F + 2·C) elements.
template <class T>
using SoftmaxGatedFeedForward = SoftmaxGated<T, SoftmaxGatedFeedForwardConfig>;

/// An MLP with a softmax gate over the N tokens of each sequence, with weights shared by all channels.
/// Errors: ArgumentError if streamed, since every token sees all tokens; ShapeError unless sequences have N tokens.
/// Cost, per sequence: 2·N·C·(2·M + N) flops. Scratch, per sequence: (M + 2·N)·C elements.
template <class T>
using SoftmaxGatedTokenMlp = SoftmaxGated<T, SoftmaxGatedTokenMlpConfig>;

}  // namespace gated
