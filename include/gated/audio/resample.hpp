#pragma once

#include <cmath>
#include <numbers>
#include <numeric>

#include "gated/audio/signal.hpp"
#include "gated/core/elementary.hpp"
#include "gated/core/ordered_sum.hpp"

/// @file
/// Sample-rate conversion without dependencies. libsoxr and libsamplerate are faster.

namespace gated {

namespace detail {

/// The modified Bessel function I₀, by its power series Σ ((x/2)^k / k!)².
inline double bessel_i0(double x) {
  const double square = rounded(x * x) / 4;
  double term = 1, sum = 1;
  for (double k = 1; term > 1e-17 * sum; ++k) {
    term *= square / (k * k);
    sum += rounded(term);
  }
  return sum;
}

/// A lowpass filter: a sinc with cutoff_ cycles per input sample, times a Kaiser window of reach_ input samples on each side.
class ResamplingFilter {
 public:
  /// Taps on each side, in samples at the lower rate.
  static constexpr double side = 64;
  /// Kaiser's β for 100 dB of attenuation. The transition band is (100 - 7.95) / (14.36 · 2 · side) = 0.05 of the lower rate.
  static constexpr double beta = 0.1102 * (100 - 8.7);
  /// Centre of the transition band, as a fraction of the lower rate. The transition band ends at 0.5.
  static constexpr double cutoff = 0.475;

  /// `ratio` is the new rate divided by the old.
  explicit ResamplingFilter(double ratio)
      : cutoff_(cutoff * std::min(ratio, 1.0)), reach_(side / std::min(ratio, 1.0)), largest_(bessel_i0(beta)) {}

  /// Number of input samples on each side of the output sample.
  Index taps() const { return static_cast<Index>(std::ceil(reach_)); }

  /// Writes the weights of input samples 1 - taps() … taps() for an output sample `fraction` input samples after sample 0.
  void weigh(double fraction, Vector<double>& weights) const {
    weights.resize(2 * taps());
    for (Index j = 0; j < weights.size(); ++j) {
      const double distance = static_cast<double>(j + 1 - taps()) - fraction, u = distance / reach_;
      const double inside = 1 - rounded(u * u), angle = 2 * std::numbers::pi * cutoff_ * distance;
      const double sinc = std::abs(angle) < 1e-9 ? 1 : elementary::turn(angle).sine / angle;
      weights[j] = inside <= 0 ? 0 : sinc * bessel_i0(beta * std::sqrt(inside)) / largest_;
    }
    weights /= ordered_sum(weights);  // unit gain at frequency 0
  }

 private:
  double cutoff_, reach_, largest_;
};

/// Frames first … first + count - 1 of resample()'s result. Only the phases of these frames are computed.
template <class T>
Matrix<T> resampled_frames(const ConstView<T>& samples, Index from, Index to, Index first, Index count) {
  if (from == to) {
    return samples.middleRows(first, count);
  }
  // In double: products of positions and rates could overflow Index on 32-bit machines.
  const Index divisor = std::gcd(from, to), up = to / divisor, down = from / divisor;
  const auto up_steps = static_cast<double>(up), down_steps = static_cast<double>(down);
  const ResamplingFilter filter(up_steps / down_steps);
  const Index taps = filter.taps();
  // The zero-padded sound, one channel per column.
  Eigen::MatrixXd sound = Eigen::MatrixXd::Zero(samples.rows() + 2 * taps, samples.cols());
  sound.middleRows(taps - 1, samples.rows()) = samples.template cast<double>();
  Matrix<T> result(count, samples.cols());
  Vector<double> weights;
  for (Index phase = 0; phase < std::min(up, count); ++phase) {
    const double place = static_cast<double>(first + phase) * down_steps;  // input position times `up`
    filter.weigh(std::fmod(place, up_steps) / up_steps, weights);
    auto begin = static_cast<Index>(place / up_steps);  // the filter's first sample in `sound`
    for (Index i = phase; i < count; i += up, begin += down) {
      for (Index c = 0; c < samples.cols(); ++c) {
        result(i, c) = static_cast<T>(ordered_dot(weights, sound.col(c).segment(begin, 2 * taps)));
      }
    }
  }
  return result;
}

}  // namespace detail

/// Converts sound from the rate `from` to the rate `to` with a polyphase windowed sinc (J. F. Kaiser, "Nonrecursive digital
/// filter design using the I0-sinh window function", 1974). Both rates must be 8 to 96 kHz. The input is padded with zeros.
///
/// Let F be half the lower rate. Tones up to 0.9 F keep their amplitude within 0.001 dB. Tones at F and above, and all images,
/// are below -90 dB. The delay is compensated: sample i of the result is at time i / to.
/// Shapes: `samples` is frames × channels; the result has ceil(frames · to / from) frames.
/// Errors: ArgumentError for a rate out of range.
/// Cost: 128 · max(1, from / to) multiplications in double per sample of the result. Each weight of the to / gcd(from, to)
/// phases also costs a sine and a series of about 20 terms. Equal rates: one copy.
template <class T>
Matrix<T> resample(const ConstView<T>& samples, Index from, Index to) {
  for (const Index rate : {from, to}) {
    require<ArgumentError>(rate >= least_rate && rate <= greatest_rate, "resample: a rate is ", rate, ", expected ", least_rate,
                           " to ", greatest_rate, " samples per second.");
  }
  const double frames = std::ceil(static_cast<double>(samples.rows()) * static_cast<double>(to) / static_cast<double>(from));
  return detail::resampled_frames<T>(samples, from, to, 0, static_cast<Index>(frames));
}

}  // namespace gated
