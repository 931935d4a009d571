#pragma once

#include "gated/audio/decode_windows.hpp"
#include "gated/audio/log_mel.hpp"
#include "gated/audio/spectral_mask.hpp"
#include "gated/models/mossformer2.hpp"

/// @file
/// Speech enhancement: features, a mask network, and the inverse transform of the masked spectrum.

namespace gated {

/// How sound is cut into frames for a mask network and reassembled.
struct SpeechEnhancement {
  LogMelOptions features{};    ///< input of the network; its length and hop must be those of `spectrum`
  SpectrumOptions spectrum{};  ///< the spectrum that the mask multiplies
  DecodeWindows windows{};     ///< windows for long recordings
};

/// The settings of MossFormer2_SE_48K, for a network configured by mossformer2_se_48k(): sound at 48 kHz, 961 bins, 4-second
/// windows for recordings of more than 20 seconds.
inline SpeechEnhancement mossformer2_enhancement() {
  return {.features = mossformer2_features(), .spectrum = mossformer2_spectrum(), .windows = mossformer2_enhancement_windows()};
}

/// Denoises one channel of speech with the masks of `network`'s first speaker:
///
///     MaskNetwork<float> network = load_model<MaskNetwork<float>>("MossFormer2_SE_48K.safetensors");
///     Vector<float> clean = enhance<float>(network, noisy, mossformer2_enhancement(), workspace);
///
/// As in ClearerVoice-Studio, but without its random dither. Resample sound at other rates first (audio/resample.hpp).
/// Shapes: the result is as long as `samples`; samples at the end that no frame covers are 0.
/// Errors: ArgumentError if the frames of `features` and `spectrum` differ; ShapeError for sound shorter than a frame, or a
/// network whose features or bins do not match `options`.
/// Cost: that of the network for one frame per hop; overlapping windows add a third. Memory: that of the network for one
/// window, plus twice the memory of the sound.
template <class T>
Vector<T> enhance(const MaskNetwork<T>& network, const ConstSignal<T>& samples, const SpeechEnhancement& options,
                  Workspace<T>& workspace) {
  constexpr Where where = "enhance";
  const Index bins = options.spectrum.bins();
  require<ArgumentError>(options.features.length == options.spectrum.span() && options.features.hop == options.spectrum.hop,
                         where, ": the features have frames of ", options.features.length, " samples every ",
                         options.features.hop, ", but the spectrum of ", options.spectrum.span(), " every ",
                         options.spectrum.hop, ". Frames must match.");
  require<ShapeError>(network.in() == options.features.features(), where, ": the network expects ", network.in(),
                      " features, but the options have ", options.features.features(),
                      ". Use the options that the network was trained with.");
  require<ShapeError>(network.config.outputs == bins, where, ": the network masks ", network.config.outputs,
                      " bins, but the spectrum has ", bins, ". Use the options that the network was trained with.");
  return enhance_in_windows<T>(samples, options.windows, [&](const ConstSignal<T>& segment) -> Matrix<T> {
    const Matrix<T> features = log_mel_features<T>(segment, options.features);
    const Matrix<T> masks = network.forward(features, workspace);
    return apply_mask<T>(segment, masks.leftCols(bins), options.spectrum);
  });
}

}  // namespace gated
