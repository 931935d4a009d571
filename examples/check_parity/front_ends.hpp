#pragma once

#include "arguments.hpp"
#include "gated/audio.hpp"

/// Reads the sound of a speech case, and derives the options of the front end from the case's arguments.

namespace parity {

/// The tensor `input`, one channel of sound.
template <class T>
gated::Vector<T> sound_of(const CaseFile& file) {
  return file.matrix<T>("input", 0).row(0).transpose();
}

/// The symmetric window named by ClearerVoice-Studio's `win_type`: "hamming" or "hanning".
inline gated::Window window_of(const CaseFile& file) {
  const bool hamming = argument<std::string>(file.arguments(), "win_type", "hamming") == "hamming";
  return {.form = hamming ? gated::WindowForm::hamming : gated::WindowForm::hann, .periodic = false};
}

/// The options of ClearerVoice-Studio's log-mel features.
inline gated::LogMelOptions features_of(const CaseFile& file) {
  const auto& a = file.arguments();
  auto options = gated::mossformer2_features();
  options.rate = argument<gated::Index>(a, "sampling_rate", options.rate);
  options.length = argument<gated::Index>(a, "win_len", options.length);
  options.hop = argument<gated::Index>(a, "win_inc", options.hop);
  options.mels = argument<gated::Index>(a, "num_mels", options.mels);
  options.window = window_of(file);
  return options;
}

/// The options of ClearerVoice-Studio's STFT.
inline gated::SpectrumOptions spectrum_of(const CaseFile& file) {
  const auto& a = file.arguments();
  return {.window = window_of(file),
          .length = argument<gated::Index>(a, "win_len", 1920),
          .hop = argument<gated::Index>(a, "win_inc", 384),
          .fft = argument<gated::Index>(a, "fft_len", 0)};
}

/// The options of KW-MLP's MFCCs.
inline gated::MfccOptions mfcc_of(const CaseFile& file) {
  const auto& a = file.arguments();
  auto options = gated::keyword_mlp_mfcc();
  options.rate = options.samples = argument<gated::Index>(a, "sr", options.rate);
  options.spectrum.fft = argument<gated::Index>(a, "n_fft", 480);
  options.spectrum.length = argument<gated::Index>(a, "win_length", options.spectrum.fft);
  options.spectrum.hop = argument<gated::Index>(a, "hop_length", options.spectrum.hop);
  options.mels = options.coefficients = argument<gated::Index>(a, "n_mels", options.mels);
  return options;
}

}  // namespace parity
