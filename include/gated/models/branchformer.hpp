#pragma once

#include <cmath>

#include "gated/core/settings.hpp"
#include "gated/layers/branchformer_layer.hpp"
#include "gated/models/stack.hpp"
#include "gated/ops/position_bias.hpp"

/// @file
/// E-Branchformer: a speech encoder.

namespace gated {

/// How an encoder prepares its features for the first layer.
enum class EncoderInput {
  plain,   ///< features unchanged
  scaled,  ///< √C · x, as in ESPnet and WeNet, for attention whose scores depend on positions
  placed   ///< √C · x_t + s(t) with interleaved sinusoids s, for attention without positions
};

constexpr auto names_of(EncoderInput) { return words_for<EncoderInput>("plain", "scaled", "placed"); }

/// The options of an E-Branchformer.
struct BranchformerConfig {
  EncoderInput input = EncoderInput::scaled;     ///< preparation of the features
  double norm_eps = 1e-12;                       ///< ε of the last norm; WeNet uses 1e-5
  StackConfig<BranchformerLayerConfig> trunk{};  ///< the layers

  template <class C = BranchformerConfig>
  static constexpr auto fields() {
    return Fields(setting("input", &C::input), setting("norm_eps", &C::norm_eps), setting("trunk", &C::trunk));
  }
};

/// Scaled features → E-Branchformer layers → norm (arXiv:2210.00077), as in ESPnet and WeNet. io/espnet.hpp loads their
/// checkpoints.
///
///     Branchformer<float> encoder(branchformer_presets::espnet_librispeech());
///     Matrix<float> hidden = encoder.forward(features, Sequences::of_lengths({140, 93}), workspace);
///
/// The input is the output of ESPnet's or WeNet's subsampling layers, without the factor √C: one row per 40 ms. These layers,
/// the decoder and the CTC head are not part of the model. See BranchformerLayer for masks and streaming.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError from runs with wrong shapes.
/// Cost: that of the layers.
template <class T>
struct Branchformer : Layer<Branchformer<T>> {
  using Config = BranchformerConfig;
  static constexpr const char* name = "Branchformer";
  static constexpr const char* architecture = "gated.Branchformer";

  Config config;
  Stack<BranchformerLayer<T>> trunk;
  Norm<T> norm;

  Branchformer() = default;
  explicit Branchformer(const Config& c) : config(c), trunk(c.trunk), norm(c.trunk.block.channels, c.norm_eps) {
    if (c.input == EncoderInput::placed) {
      frequencies_ = rotary_frequencies<double>(c.trunk.block.channels);
    }
  }
  Branchformer(const Config& c, Random& random) : Branchformer(c) { this->initialize(random); }

  static constexpr auto fields() { return Fields(field("trunk", &Branchformer::trunk), field("norm", &Branchformer::norm)); }

  Contract contract() const { return trunk.contract().then(norm.contract()); }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    return run(norm, run(trunk, prepared(run, std::move(x))));
  }

 private:
  /// The input of the first layer.
  template <class Run>
  MatrixOf<Run> prepared(Run& run, MatrixOf<Run> x) const {
    if (config.input == EncoderInput::plain) {
      return x;
    }
    auto y = scale(run, std::move(x), number(std::sqrt(static_cast<T>(config.trunk.block.channels))));
    if (config.input == EncoderInput::placed) {  // in place: the backward pass of scale() does not read y
      const Index first = run.position();
      const MatrixView<T> rows = run[y];
      const Sequences& sequences = run.sequences();
      for (Index b = 0; b < sequences.count(); ++b) {
        add_interleaved_sinusoid<T>(frequencies_, first, rows.rows(sequences.offset(b), sequences.length(b)));
      }
    }
    return y;
  }

  Vector<double> frequencies_;  // C/2, frequencies of the sinusoids
};

/// Options of published encoders.
namespace branchformer_presets {

/// ESPnet's encoder for LibriSpeech: 17 layers with 108,660,736 parameters.
inline BranchformerConfig espnet_librispeech() {
  return {.trunk = {.depth = 17, .block = {.channels = 512, .hidden = 1024, .gate_hidden = 3072}}};
}

/// OWSM v3.1 medium: 18 layers with 531,468,288 parameters. Sinusoids are added to the features.
inline BranchformerConfig owsm_v3_1_medium() {
  return {.input = EncoderInput::placed,
          .trunk = {
              .depth = 18,
              .block = {.channels = 1024, .heads = 16, .position = ScorePosition::none, .hidden = 4096, .gate_hidden = 4096}}};
}

/// WeNet's encoder for AISHELL: 17 layers with 33,022,976 parameters. If `causal`, it can stream.
inline BranchformerConfig wenet_aishell(bool causal = false) {
  return {.norm_eps = 1e-5,
          .trunk = {.depth = 17,
                    .block = {.channels = 256,
                              .position = ScorePosition::key,
                              .hidden = 1024,
                              .gate_hidden = 1024,
                              .causal = causal,
                              .causal_attention = causal,
                              .norm_before_padding = !causal,
                              .norm_eps = 1e-5}}};
}

}  // namespace branchformer_presets

}  // namespace gated
