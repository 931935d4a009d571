#pragma once

#include <algorithm>
#include <bit>

#include "gated/audio/mel_bank.hpp"
#include "gated/audio/spectrum.hpp"

/// @file
/// Log mel features as in Kaldi, with their deltas.

namespace gated {

/// Options of log_mel_features(). The defaults are those of MossFormer2_SE_48K: mossformer2_features().
struct LogMelOptions {
  Index rate = 48000;                                                ///< samples per second
  Index length = 1920;                                               ///< samples per frame
  Index hop = 384;                                                   ///< samples from one frame to the next
  Window window = {.form = WindowForm::hamming, .periodic = false};  ///< multiplies each frame
  double scale = 32768;          ///< multiplies the samples: Kaldi expects the range of 16-bit integers
  bool remove_mean = true;       ///< true to subtract the mean of each frame
  double preemphasis = 0.97;     ///< replaces x_i by x_i - preemphasis · x_{i-1} in each frame; x_{-1} is x_0
  MelForm mel = MelForm::kaldi;  ///< mel scale and filter shape
  Index mels = 60;               ///< number of filters
  double low = 20;               ///< left edge of the first filter, in Hz
  double high = 0;               ///< right edge of the last filter, in Hz; 0 for rate / 2
  double floor = 0x1p-23;        ///< lower bound of the mel energies; the default is float's epsilon
  Index deltas = 2;              ///< 0: features only; 1: features and deltas; 2: also second-order deltas

  /// FFT size: `length` rounded up to a power of two. Zeros are appended to each frame.
  Index fft() const { return static_cast<Index>(std::bit_ceil(static_cast<std::size_t>(length))); }
  /// The number of whole frames in `samples` samples.
  Index frames(Index samples) const { return SpectrumOptions{.length = length, .hop = hop}.frames(samples); }
  /// Features per frame.
  Index features() const { return (1 + deltas) * mels; }
};

/// The features of ClearerVoice-Studio's MossFormer2_SE_48K, without its random dither: 60 log mels at 48 kHz, their deltas and
/// second-order deltas.
inline LogMelOptions mossformer2_features() { return {}; }

namespace detail {

inline void expect_options(Where where, const LogMelOptions& options) {
  expect_options(where, SpectrumOptions{.length = options.length, .hop = options.hop});
  require<ArgumentError>(options.deltas >= 0 && options.deltas <= 2, where, ": deltas is ", options.deltas,
                         ", expected 0, 1 or 2.");
  require<ArgumentError>(options.floor > 0, where, ": floor is ", options.floor, ", expected a number above 0.");
}

/// Removes the mean of a frame, emphasizes its high frequencies and applies the window.
inline void condition_frame(const LogMelOptions& options, const Vector<double>& weights, double* x) {
  const Index n = options.length;
  const double mean = options.remove_mean ? ordered_sum(n, [x](Index i) { return x[i]; }) / static_cast<double>(n) : 0;
  for (Index i = 0; i < n; ++i) {
    x[i] -= mean;
  }
  for (Index i = n; i-- > 0;) {
    x[i] = (x[i] - rounded(options.preemphasis * x[std::max<Index>(i - 1, 0)])) * weights[i];
  }
}

/// Writes the deltas d_t = Σ_{k=1,2} k (x_{t+k} - x_{t-k}) / 10 of x's columns to y. The first and last rows of x are
/// repeated beyond its ends.
inline void write_deltas(const Eigen::Ref<const Matrix<double>>& x, View<double> y) {
  const Index last = x.rows() - 1;
  for (Index t = 0; t <= last; ++t) {
    const auto row = [&](Index at) { return x.row(std::clamp<Index>(at, 0, last)); };
    for (Index j = 0; j < x.cols(); ++j) {
      y(t, j) = ((row(t + 1)[j] - row(t - 1)[j]) + 2 * (row(t + 2)[j] - row(t - 2)[j])) / 10;
    }
  }
}

}  // namespace detail

/// Log mel features of one channel, as in torchaudio's `compliance.kaldi.fbank` with dither = 0; deltas as in `compute_deltas`.
///
/// Steps per frame: scale, subtract the mean, preemphasize, apply the window, append zeros up to a power of two, |FFT|², mel
/// filters, ln(max(·, floor)). The columns are [features | deltas | deltas of the deltas]. If the sound's rate is not
/// options.rate, resample it first (audio/resample.hpp).
/// Shapes: the result is options.frames(samples) × options.features(), one row per frame; a row is a token of the network.
/// Errors: ArgumentError for invalid options; ShapeError for a sound shorter than a frame.
/// Cost: about 2.5·n·log₂(n) flops per frame with n = options.fft(), in double.
template <class T>
Matrix<T> log_mel_features(const ConstSignal<T>& samples, const LogMelOptions& options) {
  constexpr Where where = "log_mel_features";
  detail::expect_options(where, options);
  detail::expect_frame(where, samples.size(), options.length);
  const Index frames = options.frames(samples.size()), mels = options.mels;
  const MelBank bank({.form = options.mel,
                      .bands = mels,
                      .rate = options.rate,
                      .fft = options.fft(),
                      .low = options.low,
                      .high = options.high});
  const Vector<double> weights = window_weights(options.window, options.length);
  Matrix<double> features(frames, options.features());
  detail::RealFourier fourier(options.fft());
  fourier.for_each_block(frames, [&](Index first, Index count) {
    for (Index r = 0; r < count; ++r) {
      for (Index i = 0; i < options.length; ++i) {
        fourier.rows(r, i) = static_cast<double>(samples[(first + r) * options.hop + i]) * options.scale;
      }
      detail::condition_frame(options, weights, &fourier.rows(r, 0));
    }
    fourier.forward(count);
    for (Index r = 0; r < count; ++r) {
      for (Index b = 0; b < mels; ++b) {
        const double energy = bank.energy(b, [&](Index k) { return detail::power(fourier, r, k); });
        features(first + r, b) = elementary::log(std::max(energy, options.floor));
      }
    }
  });
  for (Index d = 1; d <= options.deltas; ++d) {
    detail::write_deltas(features.middleCols((d - 1) * mels, mels), features.middleCols(d * mels, mels));
  }
  return features.template cast<T>();
}

}  // namespace gated
