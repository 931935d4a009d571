#pragma once

#include "gated/audio/spectral_mask.hpp"
#include "gated/core/elementary.hpp"
#include "gated/layers/gated_fsmn.hpp"
#include "gated/models/stack.hpp"

/// @file
/// A small causal network that removes noise from speech. models/denoise_stream.hpp runs it sample by sample.

namespace gated {

/// The options of a speech denoiser.
struct SpeechDenoiserConfig {
  Index rate = 16000;                     ///< samples per second
  Index length = 320;                     ///< samples of a frame
  Index hop = 160;                        ///< samples from one frame to the next; above length / 2, edges may be audible
  StackConfig<GatedFsmnConfig> blocks{};  ///< options of the blocks, which must be causal

  /// Options of the spectrum, with a Hann window.
  SpectrumOptions spectrum() const { return {.length = length, .hop = hop}; }

  template <class C = SpeechDenoiserConfig>
  static constexpr auto fields() {
    return Fields(setting("rate", &C::rate), setting("length", &C::length), setting("hop", &C::hop),
                  setting("blocks", &C::blocks));
  }
};

/// Maps the log power spectra of the current and past frames to a mask for the current frame's spectrum X:
///
///     h = blocks(W_e f + b_e)      mask = σ(W_d norm(h) + b_d)      f = speech_feature(|X|²)
///
/// The blocks are gated FSMNs (MossFormer2, arXiv:2312.11825, §2.3), which remember order + kernel - 2 frames each.
/// Shapes: x is frames × bins, y is frames × bins with values from 0 to 1.
/// Errors: ArgumentError from the constructor for invalid options or blocks that are not causal; ShapeError from a run.
/// Cost: that of the blocks, and 4·frames·bins·C flops. The state of a stream has constant size.
template <class T>
struct SpeechDenoiser : Layer<SpeechDenoiser<T>> {
  using Config = SpeechDenoiserConfig;
  static constexpr const char* name = "SpeechDenoiser";
  static constexpr const char* architecture = "gated.SpeechDenoiser";

  Config config;
  Linear<T> encoder;  ///< W_e: bins → C
  Stack<GatedFsmnBlock<T>> blocks;
  Norm<T> norm;
  Linear<T> decoder;  ///< W_d: C → bins

  SpeechDenoiser() = default;
  explicit SpeechDenoiser(const Config& c) : config(c) {
    require<ArgumentError>(c.rate >= least_rate && c.rate <= greatest_rate, name, ": rate = ", c.rate, ", expected ",
                           least_rate, " to ", greatest_rate, " samples per second.");
    require<ArgumentError>(c.hop >= 1 && c.hop < c.length, name, ": length = ", c.length, " and hop = ", c.hop,
                           ", expected 1 ≤ hop < length: frames must overlap.");
    require<ArgumentError>(c.blocks.block.causal, name, ": the blocks see the future. Set causal = true.");
    const Index bins = c.spectrum().bins(), channels = c.blocks.block.channels;
    encoder = Linear<T>(bins, channels);
    blocks = Stack<GatedFsmnBlock<T>>(c.blocks);
    norm = Norm<T>(channels);
    decoder = Linear<T>(channels, bins);
  }
  SpeechDenoiser(const Config& c, Random& random) : SpeechDenoiser(c) { this->initialize(random); }

  static constexpr auto fields() {
    using D = SpeechDenoiser;
    return Fields(field("encoder", &D::encoder), field("blocks", &D::blocks), field("norm", &D::norm),
                  field("decoder", &D::decoder));
  }

  Contract contract() const { return encoder.contract().then(blocks.contract()).then(decoder.contract()); }

  auto apply(auto& run, auto x) const {
    auto h = run(norm, run(blocks, run(encoder, std::move(x))));             // frames × C
    return run(decoder, std::move(h), {.activation = Activation::sigmoid});  // frames × bins
  }
};

/// A speech denoiser's input for a bin: (ln(power + 10⁻⁸) + 4) / 8, about -2 to 2. The added power is the rounding noise
/// of 16-bit samples.
inline double speech_feature(double power) { return (elementary::log(power + 1e-8) + 4) / 8; }

/// The input of a speech denoiser: speech_feature() of each bin.
/// Shapes: the result is spectrum.frames(samples) × spectrum.bins().
/// Errors and cost: those of stft().
template <class T>
Matrix<T> speech_features(const ConstSignal<T>& samples, const SpectrumOptions& spectrum) {
  return detail::map_spectrum<T>("speech_features", samples, spectrum, speech_feature);
}

}  // namespace gated
