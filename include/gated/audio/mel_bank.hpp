#pragma once

#include <algorithm>
#include <vector>

#include "gated/audio/signal.hpp"
#include "gated/core/elementary.hpp"
#include "gated/core/ordered_sum.hpp"

/// @file
/// Mel filter banks.

namespace gated {

/// The mel scale, and the shape of the triangular filters.
enum class MelForm {
  kaldi,  ///< mel = 1127 ln(1 + f/700); triangles of height 1, linear in mel; ignores the Nyquist bin of an even FFT
  slaney  ///< mel = 3f/200 below 1000 Hz, 15 + 27 ln(f/1000)/ln 6.4 above; triangles of area 1, linear in Hz (librosa)
};

/// Converts the frequency f from Hz to mel.
inline double mel_of(MelForm form, double f) {
  if (form == MelForm::kaldi) {
    return rounded(1127 * elementary::log(1 + f / 700));
  }
  return f < 1000 ? 3 * f / 200 : 15 + rounded(27 / elementary::log(6.4) * elementary::log(f / 1000));
}

/// The inverse of mel_of().
inline double hertz_of(MelForm form, double mel) {
  if (form == MelForm::kaldi) {
    return rounded(700 * elementary::exp(mel / 1127)) - 700;
  }
  return mel < 15 ? mel * 200 / 3 : rounded(1000 * elementary::exp((mel - 15) * (elementary::log(6.4) / 27)));
}

/// Options of a MelBank.
struct MelOptions {
  MelForm form = MelForm::slaney;  ///< mel scale and filter shape
  Index bands = 40;                ///< number of triangles
  Index rate = 16000;              ///< samples per second
  Index fft = 480;                 ///< FFT size of the spectrum
  double low = 0;                  ///< left edge of the first triangle, in Hz
  double high = 0;                 ///< right edge of the last triangle, in Hz; 0 for rate / 2
};

namespace detail {

/// The triangles of a MelBank.
class MelTriangles {
 public:
  /// Errors: those of MelBank.
  explicit MelTriangles(const MelOptions& options) : options_(options) {
    const double top = options.high == 0 ? static_cast<double>(options.rate) / 2 : options.high;
    require<ArgumentError>(options.bands >= 1 && options.rate >= 1 && options.fft >= 1, "MelBank: bands is ", options.bands,
                           ", rate is ", options.rate, " and fft is ", options.fft, ", expected at least 1.");
    require<ArgumentError>(0 <= options.low && options.low < top && top <= static_cast<double>(options.rate) / 2,
                           "MelBank: low is ", options.low, " and high is ", top, ", expected 0 ≤ low < high ≤ ",
                           static_cast<double>(options.rate) / 2, ", half the rate.");
    low_ = mel_of(options.form, options.low);
    step_ = (mel_of(options.form, top) - low_) / static_cast<double>(options.bands + 1);
  }

  /// Number of bins used. Kaldi ignores the Nyquist bin, which an even FFT size has.
  Index bins() const { return options_.form == MelForm::kaldi ? (options_.fft + 1) / 2 : options_.fft / 2 + 1; }
  /// The frequency of bin k, in mel (Kaldi) or Hz (Slaney).
  double place(Index k) const {
    const double f = static_cast<double>(k) * static_cast<double>(options_.rate) / static_cast<double>(options_.fft);
    return options_.form == MelForm::kaldi ? mel_of(options_.form, f) : f;
  }
  /// Calls `f(k, weight)` for each bin k whose weight in band b is above 0. `places[k]` must be place(k).
  template <class Places, class F>
  void for_each_weight(Index b, const Places& places, const F& f) const {
    const double left = edge(b), centre = edge(b + 1), right = edge(b + 2);
    const double height = options_.form == MelForm::kaldi ? 1 : 2 / (right - left);
    for (Index k = 0; k < bins(); ++k) {
      const double weight = std::min((places[k] - left) / (centre - left), (right - places[k]) / (right - centre)) * height;
      if (weight > 0) {
        f(k, weight);
      }
    }
  }

 private:
  /// The left edge of triangle i, which is also the centre of triangle i - 1 and the right edge of triangle i - 2.
  double edge(Index i) const {
    const double mel = low_ + rounded(static_cast<double>(i) * step_);
    return options_.form == MelForm::kaldi ? mel : hertz_of(options_.form, mel);
  }

  MelOptions options_;
  double low_ = 0, step_ = 0;
};

}  // namespace detail

/// Triangular filters whose edges are equally spaced on a mel scale: the energy of band b is Σ_k w_bk |X_k|² with
///
///     w = max(0, min((m - left) / (centre - left), (right - m) / (right - centre)))
///
/// where m is the frequency of bin k, in mel (Kaldi) or Hz (Slaney, whose weights are also multiplied by 2 / (right - left)).
/// Errors: ArgumentError unless 0 ≤ low < high ≤ rate/2, and bands, rate and fft are positive.
/// Cost: at most two multiplications per bin and frame.
class MelBank {
 public:
  /// Computes the weights of all triangles.
  explicit MelBank(const MelOptions& options) : bins_(options.fft / 2 + 1) {
    const detail::MelTriangles triangles(options);
    Vector<double> places(triangles.bins());
    for (Index k = 0; k < places.size(); ++k) {
      places[k] = triangles.place(k);
    }
    for (Index b = 0; b < options.bands; ++b) {
      Band& band = bands_.emplace_back();
      triangles.for_each_weight(b, places, [&band](Index k, double weight) {
        band.first = band.weights.empty() ? k : band.first;
        band.weights.push_back(weight);
      });
    }
  }

  /// The number of triangles.
  Index bands() const { return static_cast<Index>(bands_.size()); }
  /// The number of bins of a spectrum: fft/2 + 1.
  Index bins() const { return bins_; }

  /// The energy of band b, where `power(k)` is |X_k|².
  template <class F>
  double energy(Index b, const F& power) const {
    const Band& band = bands_[static_cast<std::size_t>(b)];
    return ordered_sum(static_cast<Index>(band.weights.size()),
                       [&](Index i) { return rounded(band.weights[static_cast<std::size_t>(i)] * power(band.first + i)); });
  }

  /// The weights as a matrix, bands × bins.
  Matrix<double> weights() const {
    Matrix<double> all = Matrix<double>::Zero(bands(), bins());
    for (Index b = 0; b < bands(); ++b) {
      const Band& band = bands_[static_cast<std::size_t>(b)];
      std::copy(band.weights.begin(), band.weights.end(), all.row(b).data() + band.first);
    }
    return all;
  }

 private:
  /// The weights of a triangle for consecutive bins, starting at bin `first`. All are above 0.
  struct Band {
    Index first = 0;
    std::vector<double> weights;
  };

  Index bins_;
  std::vector<Band> bands_;
};

}  // namespace gated
