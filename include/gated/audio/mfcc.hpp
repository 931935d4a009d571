#pragma once

#include <algorithm>

#include "gated/audio/mel_bank.hpp"
#include "gated/audio/spectrum.hpp"

/// @file
/// Mel-frequency cepstral coefficients as in librosa.

namespace gated {

/// Options of mfcc(). The defaults are those of KW-MLP: keyword_mlp_mfcc().
struct MfccOptions {
  Index rate = 16000;             ///< samples per second
  Index samples = 16000;          ///< length to which the sound is cut or zero-padded; 0 for no change
  SpectrumOptions spectrum = {};  ///< window, hop and FFT size
  MelForm mel = MelForm::slaney;  ///< mel scale and filter shape
  Index mels = 40;                ///< number of filters
  Index coefficients = 40;        ///< coefficients per frame, at most `mels`
  double least_power = 1e-10;     ///< lower bound of the mel energies (librosa's amin)
  double range = 80;              ///< in dB: levels are at least the highest level minus `range` (librosa's top_db)
};

/// KW-MLP's MFCC options (arXiv:2110.07749): one second at 16 kHz yields 98 frames of 40 coefficients.
inline MfccOptions keyword_mlp_mfcc() { return {}; }

namespace detail {

/// Raises ArgumentError for invalid options.
inline void expect_mfcc(Where where, const MfccOptions& options) {
  require<ArgumentError>(options.coefficients >= 1 && options.coefficients <= options.mels, where, ": coefficients is ",
                         options.coefficients, ", expected 1 to mels = ", options.mels, ".");
  require<ArgumentError>(options.samples >= 0 && options.least_power > 0 && options.range >= 0, where, ": samples is ",
                         options.samples, ", least_power is ", options.least_power, " and range is ", options.range,
                         ", expected samples ≥ 0, least_power > 0 and range ≥ 0.");
}

/// The factor of row k of the orthonormal DCT-II of n points: √(2/n), and √(1/n) for k = 0.
inline double cosine_scale(Index k, Index n) { return std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(n)); }

/// The orthonormal DCT-II, n × n: row k is √(2/n) cos(πk(2j + 1) / 2n), and √(1/n) for k = 0.
inline Matrix<double> cosine_transform(Index n) {
  Matrix<double> rows(n, n);
  for (Index k = 0; k < n; ++k) {
    const double scale = cosine_scale(k, n);
    for (Index j = 0; j < n; ++j) {
      rows(k, j) = scale * FourierFactor<double>::turn(k * (2 * j + 1), 4 * n).c;
    }
  }
  return rows;
}

/// The levels of the mel bands in dB, frames × bands.
inline Matrix<double> mel_levels(const Vector<double>& samples, const MfccOptions& options) {
  const MelBank bank({.form = options.mel, .bands = options.mels, .rate = options.rate, .fft = options.spectrum.span()});
  const double decibel = 10 / elementary::log(10);
  Matrix<double> levels(frames_of("mfcc", samples.size(), options.spectrum), options.mels);
  for_each_spectrum<double>(samples, options.spectrum, [&](Index first, Index count, const RealFourier& fourier) {
    for (Index r = 0; r < count; ++r) {
      for (Index b = 0; b < options.mels; ++b) {
        const double energy = bank.energy(b, [&](Index k) { return power(fourier, r, k); });
        levels(first + r, b) = decibel * elementary::log(std::max(energy, options.least_power));
      }
    }
  });
  return levels;
}

}  // namespace detail

/// Mel-frequency cepstral coefficients of one channel, as librosa's `melspectrogram`, `power_to_db` and `mfcc` compute them:
/// |STFT|², mel filters, 10 log₁₀(max(·, least_power)), max(·, highest level - range), orthonormal DCT-II.
///
/// The highest level is taken over the whole sound, so the coefficients cannot be streamed.
/// KW-MLP's input image [1, 40, 98] is the transpose of the result. Each column of the image is a patch, so
/// token i is row i of the result.
/// Shapes: the result is options.spectrum.frames(samples) × options.coefficients, one row per frame.
/// Errors: ArgumentError for invalid options; ShapeError for a sound shorter than a frame.
/// Cost: about 2.5·n·log₂(n) flops per frame of n samples, and mels · coefficients multiplications, in double.
template <class T>
Matrix<T> mfcc(const ConstSignal<T>& samples, const MfccOptions& options) {
  constexpr Where where = "mfcc";
  detail::expect_mfcc(where, options);
  Vector<double> sound = Vector<double>::Zero(options.samples == 0 ? samples.size() : options.samples);
  const Index count = std::min(sound.size(), samples.size());
  sound.head(count) = samples.head(count).template cast<double>();
  Matrix<double> levels = detail::mel_levels(sound, options);
  levels = levels.cwiseMax(levels.maxCoeff() - options.range).eval();
  const Matrix<double> cosines = detail::cosine_transform(options.mels);
  Matrix<T> coefficients(levels.rows(), options.coefficients);
  for (Index f = 0; f < levels.rows(); ++f) {
    for (Index k = 0; k < options.coefficients; ++k) {
      coefficients(f, k) = static_cast<T>(ordered_dot(levels.row(f), cosines.row(k)));
    }
  }
  return coefficients;
}

}  // namespace gated
