#pragma once

#include "gated/layers/mossformer_block.hpp"
#include "gated/layers/sinusoid_position.hpp"
#include "gated/models/stack.hpp"
#include "gated/ops/reshape.hpp"

/// @file
/// MossFormer2: its trunk, and the network that estimates masks for spectra or learned features.

namespace gated {

/// The options of a MossFormer2 trunk.
using MossFormer2Config = StackConfig<MossFormerBlockConfig>;

/// MossFormer2 blocks, then a LayerNorm (arXiv:2312.11825, Figure 2).
///
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or a stream without `causal`; ShapeError from runs with wrong shapes.
/// Cost: that of its blocks.
template <class T>
struct MossFormer2 : Layer<MossFormer2<T>> {
  using Config = MossFormer2Config;
  static constexpr const char* name = "MossFormer2";
  static constexpr const char* architecture = "gated.MossFormer2";

  Config config;
  Stack<MossFormerBlock<T>> trunk;
  Norm<T> norm;

  MossFormer2() = default;
  explicit MossFormer2(const Config& c) : config(c), trunk(c), norm(c.block.channels, 1e-6) {}
  MossFormer2(const Config& c, Random& random) : MossFormer2(c) { this->initialize(random); }

  static constexpr auto fields() { return Fields(field("trunk", &MossFormer2::trunk), field("norm", &MossFormer2::norm)); }

  Contract contract() const { return trunk.contract().then(norm.contract()); }

  auto apply(auto& run, auto x) const { return run(norm, run(trunk, std::move(x))); }
};

/// The options of a mask network.
struct MaskNetworkConfig {
  Index features = 0;         ///< input features per frame
  Index outputs = 0;          ///< O, values per mask and frame
  Index speakers = 1;         ///< S, masks per frame
  bool positions = true;      ///< adds scaled sinusoids
  bool skip = true;           ///< adds the trunk's input to its output
  MossFormer2Config trunk{};  ///< blocks

  template <class C = MaskNetworkConfig>
  static constexpr auto fields() {
    return Fields(setting("features", &C::features), setting("outputs", &C::outputs), setting("speakers", &C::speakers),
                  setting("positions", &C::positions), setting("skip", &C::skip), setting("trunk", &C::trunk));
  }
};

/// Maps each frame of features to S masks ≥ 0 (MossFormer2, arXiv:2312.11825, §2.1):
///
///     x₀ = W_e norm(x) + s · positions          h = prelu(x₀ + norm(trunk(x₀)))
///     o_s = the s-th part of W_o h + b          mask_s = relu(W_d (tanh(W_t o_s + b_t) ⊙ σ(W_g o_s + b_g)))
///
/// The norms span a whole sequence, which is one segment of sound: splitting a segment changes its masks.
/// Shapes: x is frames × features, y is frames × (S · O), mask by mask.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError from runs with wrong shapes.
/// Cost: that of the trunk, and 2·frames·C·(features + S·(3·C + O)) flops.
template <class T>
struct MaskNetwork : Layer<MaskNetwork<T>> {
  using Config = MaskNetworkConfig;
  static constexpr const char* name = "MaskNetwork";
  static constexpr const char* architecture = "gated.MaskNetwork";

  Config config;
  SequenceNorm<T> norm;
  Linear<T> encoder;  ///< W_e: features → C, without bias
  SinusoidPosition<T> position;
  MossFormer2<T> trunk;
  SequenceNorm<T> trunk_norm;
  Prelu<T> prelu;
  Linear<T> speakers;     ///< W_o: C → S · C
  Linear<T> value, gate;  ///< W_t and W_g: C → C
  Linear<T> decoder;      ///< W_d: C → O, without bias

  MaskNetwork() = default;
  explicit MaskNetwork(const Config& c) : config(c) {
    require<ArgumentError>(c.features > 0 && c.outputs > 0 && c.speakers > 0, name, ": features = ", c.features,
                           ", outputs = ", c.outputs, " and speakers = ", c.speakers, " must be positive.");
    const Index channels = c.trunk.block.channels;
    norm = SequenceNorm<T>(c.features, TokenNormForm::group, 1e-8);
    encoder = Linear<T>(c.features, channels, false);
    position = SinusoidPosition<T>(c.positions ? PositionForm::sinusoid : PositionForm::none, channels, 0, T{1});
    trunk = MossFormer2<T>(c.trunk);
    trunk_norm = SequenceNorm<T>(channels, TokenNormForm::group, 1e-8);
    prelu = Prelu<T>(channels);
    speakers = Linear<T>(channels, (Count(c.speakers) * channels).value());
    value = Linear<T>(channels, channels);
    gate = Linear<T>(channels, channels);
    decoder = Linear<T>(channels, c.outputs, false);
  }
  MaskNetwork(const Config& c, Random& random) : MaskNetwork(c) { this->initialize(random); }

  static constexpr auto fields() {
    using N = MaskNetwork;
    return Fields(field("norm", &N::norm), field("encoder", &N::encoder), field("position", &N::position),
                  field("trunk", &N::trunk), field("trunk_norm", &N::trunk_norm), field("prelu", &N::prelu),
                  field("speakers", &N::speakers), field("value", &N::value), field("gate", &N::gate),
                  field("decoder", &N::decoder));
  }

  Contract contract() const {
    Contract contract = trunk.contract().with(norm.contract());
    contract.in = config.features;
    contract.out = config.speakers * config.outputs;
    return contract;
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x) const {
    const auto start = run(position, run(encoder, run(norm, std::move(x))));  // frames × C
    auto h = run(trunk_norm, run(trunk, start));                              // frames × C
    h = run(prelu, config.skip ? add(run, start, std::move(h)) : std::move(h));
    const auto each = reshape(run, run(speakers, std::move(h)), trunk.out());  // (frames · S) × C
    auto opened = run(gate, each, {.activation = Activation::sigmoid});
    auto masked = run(value, each, {.activation = Activation::tanh, .gate = std::move(opened)});
    auto masks = run(decoder, std::move(masked), {.activation = Activation::relu});  // (frames · S) × O
    return reshape(run, std::move(masks), config.speakers * config.outputs);         // frames × (S · O)
  }
};

/// The mask network of MossFormer2_SE_48K: maps log mel features of 48 kHz speech (audio/log_mel.hpp) to a mask.
///
/// It has 54,999,498 parameters. The published network has 55,262,154: it computes an unused second mask (`speakers` = 2).
inline MaskNetworkConfig mossformer2_se_48k() {
  return {.features = 180, .outputs = 961, .trunk = {.depth = 24, .block = {.channels = 512}}};
}

/// The mask network of MossFormer2_SS_16K and SS_8K, which separates two speakers. With SpeechSeparator's encoder and decoder,
/// it has 55,735,394 parameters.
inline MaskNetworkConfig mossformer2_ss() {
  return {.features = 512,
          .outputs = 512,
          .speakers = 2,
          .trunk = {.depth = 24, .block = {.channels = 512, .fsmn = {.dilated = true}}}};
}

}  // namespace gated
