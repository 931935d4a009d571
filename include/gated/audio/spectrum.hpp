#pragma once

#include <algorithm>
#include <complex>

#include "gated/audio/real_fourier.hpp"
#include "gated/audio/window.hpp"

/// @file
/// Short-time Fourier transforms and their inverse.
///
/// All of gated/audio computes in double, whatever T is; float results are rounded once. A quiet band next to a loud one thus
/// keeps its precision.

namespace gated {

/// Options of stft(): the window, the hop and the FFT size. Frame f starts at sample f · hop and has span() samples. Incomplete
/// frames are dropped, and nothing is padded (`center=False` in torch and librosa).
struct SpectrumOptions {
  Window window = {};  ///< multiplies each frame
  Index length = 480;  ///< samples per window
  Index hop = 160;     ///< samples from the start of one frame to that of the next
  Index fft = 0;       ///< FFT size; 0 for `length`. A shorter window is centred and zero-padded on both sides

  /// Samples per frame: the FFT size.
  Index span() const { return fft == 0 ? length : fft; }
  /// The number of bins, from frequency 0 to the Nyquist frequency.
  Index bins() const { return span() / 2 + 1; }
  /// The number of whole frames in `samples` samples.
  Index frames(Index samples) const { return samples < span() ? 0 : 1 + (samples - span()) / hop; }
};

namespace detail {

/// Raises ArgumentError unless length and hop are positive and the transform is at least as long as the window.
inline void expect_options(Where where, const SpectrumOptions& options) {
  require<ArgumentError>(options.length >= 1 && options.hop >= 1, where, ": length is ", options.length, " and hop is ",
                         options.hop, ", expected at least 1.");
  require<ArgumentError>(options.fft == 0 || options.fft >= options.length, where, ": fft is ", options.fft,
                         ", expected at least length = ", options.length, ", or 0 to use length.");
}

/// Raises ShapeError unless `samples` samples fill a frame.
inline void expect_frame(Where where, Index samples, Index span) {
  require<ShapeError>(samples >= span, where, ": ", samples, " samples, expected at least ", span,
                      ", the length of a frame. Append zeros to a shorter sound.");
}

/// The number of frames in `samples` samples, at least one. Errors: those of expect_options() and expect_frame().
inline Index frames_of(Where where, Index samples, const SpectrumOptions& options) {
  expect_options(where, options);
  expect_frame(where, samples, options.span());
  return options.frames(samples);
}

/// Raises ShapeError unless rows × columns is frames × bins.
inline void expect_spectrum(Where where, const char* name, Index rows, Index columns, Index samples,
                            const SpectrumOptions& options) {
  const Index frames = frames_of(where, samples, options);
  require<ShapeError>(rows == frames && columns == options.bins(), where, ": the ", name, " is ", rows, " × ", columns,
                      ", expected ", frames, " frames × ", options.bins(), " bins for ", samples, " samples.");
}

/// The weights of a frame: the window, with zeros on both sides if the transform is longer.
inline Vector<double> frame_weights(const SpectrumOptions& options) {
  Vector<double> weights = Vector<double>::Zero(options.span());
  weights.segment((options.span() - options.length) / 2, options.length) = window_weights(options.window, options.length);
  return weights;
}

/// Calls `f(first, count, fourier)` for blocks of frames, with their bins in `fourier`.
template <class T, class F>
void for_each_spectrum(const ConstSignal<T>& samples, const SpectrumOptions& options, const F& f) {
  const Vector<double> weights = frame_weights(options);
  RealFourier fourier(options.span());
  fourier.for_each_block(options.frames(samples.size()), [&](Index first, Index count) {
    for (Index r = 0; r < count; ++r) {
      const Index start = (first + r) * options.hop;
      for (Index i = 0; i < options.span(); ++i) {
        fourier.rows(r, i) = static_cast<double>(samples[start + i]) * weights[i];
      }
    }
    fourier.forward(count);
    f(first, count, fourier);
  });
}

/// Weighted overlap-add: y = Σ_f w ⊙ frame_f / Σ_f w², where frame f starts at sample f · hop.
class OverlapAdd {
 public:
  OverlapAdd(const SpectrumOptions& options, Index samples)
      : hop_(options.hop),
        weights_(frame_weights(options)),
        sum_(Vector<double>::Zero(samples)),
        squares_(Vector<double>::Zero(samples)) {}

  /// Adds the samples of frame f; those beyond the end are dropped.
  void add(Index f, const double* frame) {
    const Index start = f * hop_, count = std::min(weights_.size(), sum_.size() - start);
    for (Index i = 0; i < count; ++i) {
      sum_[start + i] += rounded(weights_[i] * frame[i]);
      squares_[start + i] += rounded(weights_[i] * weights_[i]);
    }
  }

  /// Sample t of y; final once no later frame covers it.
  template <class T>
  T sample(Index t) const {
    constexpr double covered = 1e-11;  // torch.istft raises an error if Σ w² is below this
    return squares_[t] > covered ? static_cast<T>(sum_[t] / squares_[t]) : T{0};
  }
  template <class T>
  Vector<T> result() const {
    return Vector<T>::NullaryExpr(sum_.size(), [this](Index t) { return sample<T>(t); });
  }
  /// Drops the first `hop` samples: the next frame then starts at sample 0.
  void shift() {
    for (Vector<double>* const x : {&sum_, &squares_}) {
      std::copy(x->data() + hop_, x->data() + x->size(), x->data());
      x->tail(hop_).setZero();
    }
  }
  void clear() {
    sum_.setZero();
    squares_.setZero();
  }
  const Vector<double>& weights() const { return weights_; }

 private:
  Index hop_;
  Vector<double> weights_, sum_, squares_;
};

}  // namespace detail

/// The short-time Fourier transform: X_fk = Σ_i w_i x_{f·hop+i} e^(-2πik/n) for bins k = 0 … n/2, with n = options.span().
/// Shapes: the result is options.frames(samples) × options.bins().
/// Errors: ArgumentError for invalid options; ShapeError for a sound shorter than a frame.
/// Cost: about 2.5·n·log₂(n/2) flops per frame, in double.
template <class T>
Matrix<std::complex<T>> stft(const ConstSignal<T>& samples, const SpectrumOptions& options) {
  Matrix<std::complex<T>> spectrum(detail::frames_of("stft", samples.size(), options), options.bins());
  detail::for_each_spectrum<T>(samples, options, [&](Index first, Index count, const detail::RealFourier& fourier) {
    for (Index r = 0; r < count; ++r) {
      for (Index k = 0; k < spectrum.cols(); ++k) {
        spectrum(first + r, k) = {static_cast<T>(fourier.real(r, k)), static_cast<T>(fourier.imaginary(r, k))};
      }
    }
  });
  return spectrum;
}

namespace detail {

/// |X_k|² of row r.
inline double power(const RealFourier& fourier, Index r, Index k) {
  const double re = fourier.real(r, k), im = fourier.imaginary(r, k);
  return rounded(re * re) + rounded(im * im);
}

/// f(|X|²), one row per frame.
template <class T, class F>
Matrix<T> map_spectrum(Where where, const ConstSignal<T>& samples, const SpectrumOptions& options, const F& f) {
  Matrix<T> values(frames_of(where, samples.size(), options), options.bins());
  for_each_spectrum<T>(samples, options, [&](Index first, Index count, const RealFourier& fourier) {
    for (Index r = 0; r < count; ++r) {
      for (Index k = 0; k < values.cols(); ++k) {
        values(first + r, k) = static_cast<T>(f(power(fourier, r, k)));
      }
    }
  });
  return values;
}

}  // namespace detail

/// |X|², where X is stft(samples, options). Shapes, errors and cost are those of stft().
template <class T>
Matrix<T> power_spectrum(const ConstSignal<T>& samples, const SpectrumOptions& options) {
  return detail::map_spectrum<T>("power_spectrum", samples, options, [](double power) { return power; });
}

/// The inverse of stft(), `samples` samples long: Σ_f w ⊙ irfft(X_f) / Σ_f w², where frame f starts at sample f · hop (Griffin
/// and Lim 1984). Samples where Σ_f w² ≤ 10⁻¹¹ are set to 0: the last (samples - options.span()) mod hop samples, which no
/// frame covers, and with a Hann window the first sample (a few at both ends if the window is longer than 1,766 samples).
/// Shapes: the spectrum is options.frames(samples) × options.bins().
/// Errors: ArgumentError for invalid options; ShapeError for a spectrum of the wrong shape, or a sound shorter than a frame.
/// Cost: that of stft().
template <class T>
Vector<T> istft(const Matrix<std::complex<T>>& spectrum, Index samples, const SpectrumOptions& options) {
  detail::expect_spectrum("istft", "spectrum", spectrum.rows(), spectrum.cols(), samples, options);
  detail::OverlapAdd sum(options, samples);
  detail::RealFourier fourier(options.span());
  fourier.for_each_block(spectrum.rows(), [&](Index first, Index count) {
    for (Index r = 0; r < count; ++r) {
      for (Index k = 0; k < spectrum.cols(); ++k) {
        fourier.real(r, k) = static_cast<double>(spectrum(first + r, k).real());
        fourier.imaginary(r, k) = static_cast<double>(spectrum(first + r, k).imag());
      }
    }
    fourier.inverse(count);
    for (Index r = 0; r < count; ++r) {
      sum.add(first + r, &fourier.rows(r, 0));
    }
  });
  return sum.result<T>();
}

}  // namespace gated
