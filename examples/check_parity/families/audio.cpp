#include "gated/audio.hpp"

#include "../inputs.hpp"

// Sound to features, and a spectrum's mask to sound: the parts around a speech network that have no parameters.

namespace parity {

namespace {

/// The tensor `input`, one channel of sound.
template <class T>
gated::Vector<T> sound_of(const CaseFile& file) {
  return file.matrix<T>("input", 0).row(0).transpose();
}

/// The window of ClearerVoice-Studio's `win_type`, "hamming" or "hanning": symmetric.
gated::Window window_of(const CaseFile& file) {
  const bool hamming = argument<std::string>(file.arguments(), "win_type", "hamming") == "hamming";
  return {.form = hamming ? gated::WindowForm::hamming : gated::WindowForm::hann, .periodic = false};
}

template <class T>
Result<T> result_of(const Matrix<T>& output) {
  Result<T> result;
  result.output = output;
  return result;
}

template <class T>
Result<T> run_features(const CaseFile& file) {
  const auto& a = file.arguments();
  auto options = gated::mossformer2_features();
  options.rate = argument<Index>(a, "sampling_rate", options.rate);
  options.length = argument<Index>(a, "win_len", options.length);
  options.hop = argument<Index>(a, "win_inc", options.hop);
  options.mels = argument<Index>(a, "num_mels", options.mels);
  options.window = window_of(file);
  return result_of<T>(gated::log_mel_features<T>(sound_of<T>(file), options));
}

template <class T>
Result<T> run_mask(const CaseFile& file) {
  const auto& a = file.arguments();
  const gated::SpectrumOptions options{.window = window_of(file),
                                       .length = argument<Index>(a, "win_len", 1920),
                                       .hop = argument<Index>(a, "win_inc", 384),
                                       .fft = argument<Index>(a, "fft_len", 0)};
  return result_of<T>(gated::apply_mask<T>(sound_of<T>(file), file.matrix<T>("mask"), options).transpose());
}

template <class T>
Result<T> run_mfcc(const CaseFile& file) {
  const auto& a = file.arguments();
  auto options = gated::keyword_mlp_mfcc();
  options.rate = options.samples = argument<Index>(a, "sr", options.rate);
  options.spectrum.fft = argument<Index>(a, "n_fft", 480);
  options.spectrum.length = argument<Index>(a, "win_length", options.spectrum.fft);
  options.spectrum.hop = argument<Index>(a, "hop_length", options.spectrum.hop);
  options.mels = options.coefficients = argument<Index>(a, "n_mels", options.mels);
  return result_of<T>(gated::mfcc<T>(sound_of<T>(file), options).transpose());  // the original has a column per frame
}

constexpr Family families[] = {{"mossformer2_frontend", "features", run_features<float>, run_features<double>},
                               {"mossformer2_frontend", "mask_to_audio", run_mask<float>, run_mask<double>},
                               {"kwmlp_frontend", "mfcc", run_mfcc<float>, run_mfcc<double>}};

}  // namespace

std::span<const Family> audio_families() { return families; }

}  // namespace parity
