#pragma once

#include "gated/layers/transposed_convolution.hpp"
#include "gated/models/mossformer2.hpp"
#include "gated/ops/series.hpp"

/// @file
/// MossFormer2 as a speaker separator: one wave in, one wave per speaker out.

namespace gated {

/// The options of a speech separator.
struct SpeechSeparatorConfig {
  Index window = 16;        ///< samples of a frame; frames are half a window apart
  MaskNetworkConfig masks;  ///< features and outputs must both be the number of channels of the learned spectrum

  /// Samples from one frame to the next.
  Index stride() const { return window / 2; }

  template <class C = SpeechSeparatorConfig>
  static constexpr auto fields() {
    return Fields(setting("window", &C::window), setting("masks", &C::masks));
  }
};

/// The published separators MossFormer2_SS_16K and SS_8K: 55,735,394 parameters.
inline SpeechSeparatorConfig mossformer2_separator() { return {.masks = mossformer2_ss()}; }

/// Masks a learned spectrum for each speaker s (MossFormer2, arXiv:2312.11825, §2.1): wave_s is the overlap-add of
/// Dᵀ (e ⊙ mask_s), where e = relu(E w) is the spectrum of a frame w of the input wave.
///
/// Frames have `window` samples and start every window / 2 samples. Samples at the end that no frame covers are 0 in y.
/// Shapes: x is waves × samples, y is waves × (S · samples), speaker by speaker.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for waves shorter than a window.
/// Cost: that of the mask network on one frame per window / 2 samples.
template <class T>
struct SpeechSeparator : Layer<SpeechSeparator<T>> {
  using Config = SpeechSeparatorConfig;
  static constexpr const char* name = "SpeechSeparator";
  static constexpr const char* architecture = "gated.SpeechSeparator";

  Config config;
  Linear<T> encoder;  ///< E: window → channels, without bias
  MaskNetwork<T> masks;
  TransposedConvolution<T> decoder;  ///< D

  SpeechSeparator() = default;
  explicit SpeechSeparator(const Config& c) : config(c) {
    require<ArgumentError>(c.window >= 2, name, ": window = ", c.window,
                           ", expected at least 2 samples: frames are half a window apart.");
    require<ArgumentError>(c.masks.features == c.masks.outputs, name, ": masks.features = ", c.masks.features,
                           " and masks.outputs = ", c.masks.outputs,
                           ", expected equal numbers: a mask covers the learned spectrum.");
    encoder = Linear<T>(c.window, c.masks.features, false);
    masks = MaskNetwork<T>(c.masks);
    decoder = TransposedConvolution<T>(c.masks.features, c.window, c.stride());
  }
  SpeechSeparator(const Config& c, Random& random) : SpeechSeparator(c) { this->initialize(random); }

  static constexpr auto fields() {
    using S = SpeechSeparator;
    return Fields(field("encoder", &S::encoder), field("masks", &S::masks), field("decoder", &S::decoder));
  }

  /// A row of x is a wave, and a row of y the waves of its speakers.
  Contract contract() const {
    return {.widening = config.masks.speakers,
            .sees = Sees::itself,
            .in_note = "a wave per row",
            .unstreamable = "Its norms need whole waves."};
  }

  /// The forward pass, also for training: `run` may be a Recording.
  template <class Run>
  MatrixOf<Run> apply(Run& run, const MatrixOf<Run>& x) const {
    const Index samples = run.columns(x), channels = config.masks.features;
    require<ShapeError>(samples >= config.window, name, ": a wave has ", samples,
                        " samples, expected at least window = ", config.window, ". Append zeros.");
    const Index frames = (samples - config.window) / config.stride() + 1;
    auto over_frames = run.with(Sequences::uniform(run.rows(x), frames));
    const auto cut = unfold(run, x, {.length = config.window, .stride = config.stride(), .count = frames});
    const auto spectrum = over_frames(encoder, cut, {.activation = Activation::relu});  // (waves · frames) × channels
    const auto masked = over_frames(masks, spectrum);                                   // … × (S · channels)
    const auto wave_of = [&](Index speaker) {
      auto own = multiply(over_frames, spectrum, run.columns(masked, speaker * channels, channels));
      return decoder.wave(over_frames, own, samples);  // waves × samples
    };
    auto waves = wave_of(0);
    for (Index speaker = 1; speaker < config.masks.speakers; ++speaker) {
      waves = concatenate(run, waves, wave_of(speaker));
    }
    return waves;
  }
};

}  // namespace gated
