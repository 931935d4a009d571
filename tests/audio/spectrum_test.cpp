#include "gated/audio/spectrum.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::spectrum_test {
namespace {

using test::expect_error;
using test::random_vector;

constexpr Window hamming{.form = WindowForm::hamming, .periodic = false};

/// Σ_i w_i x_{f·hop+i} e^(-2πik/n), with the window in the middle of the n samples.
std::complex<double> literal_bin(const Vector<double>& x, const SpectrumOptions& options, Index f, Index k) {
  const Index n = options.span(), before = (n - options.length) / 2;
  const Vector<double> window = window_weights(options.window, options.length);
  std::complex<double> sum = 0;
  for (Index i = 0; i < options.length; ++i) {
    const double angle = -2 * std::acos(-1.0) * static_cast<double>((before + i) * k % n) / static_cast<double>(n);
    sum += window[i] * x[f * options.hop + before + i] * std::polar(1.0, angle);
  }
  return sum;
}

/// Options of every kind: odd and even lengths, and transforms or hops longer than the window.
std::vector<SpectrumOptions> cases() {
  return {{.window = {}, .length = 16, .hop = 4},
          {.window = hamming, .length = 15, .hop = 7},
          {.window = hamming, .length = 10, .hop = 25, .fft = 16},
          {.window = {}, .length = 9, .hop = 3, .fft = 16},
          {.window = hamming, .length = 80, .hop = 16},
          {.window = {}, .length = 1, .hop = 1, .fft = 1}};
}

TEST(Spectrum, EqualsItsDefinition) {
  for (const SpectrumOptions& options : cases()) {
    const Vector<double> x = random_vector<double>(213, 1);
    const auto spectrum = stft<double>(x, options);
    ASSERT_EQ(spectrum.rows(), 1 + (213 - options.span()) / options.hop);
    ASSERT_EQ(spectrum.cols(), options.span() / 2 + 1);
    const auto powers = power_spectrum<double>(x, options);
    for (Index f = 0; f < spectrum.rows(); ++f) {
      for (Index k = 0; k < spectrum.cols(); ++k) {
        const auto expected = literal_bin(x, options, f, k);
        EXPECT_LT(std::abs(spectrum(f, k) - expected), 1e-12) << options.length << ": frame " << f << ", bin " << k;
        EXPECT_NEAR(powers(f, k), std::norm(expected), 1e-11);
      }
    }
  }
}

TEST(Spectrum, PeaksAtTheFrequencyOfATone) {
  const SpectrumOptions options{.window = {}, .length = 1920, .hop = 384};
  Vector<float> x(4000);
  for (Index t = 0; t < x.size(); ++t) {
    x[t] = static_cast<float>(std::cos(2 * std::acos(-1.0) * 100 * static_cast<double>(t) / 1920));
  }
  const auto powers = power_spectrum<float>(x, options);
  for (Index f = 0; f < powers.rows(); ++f) {
    Index peak = 0;
    EXPECT_NEAR(powers.row(f).maxCoeff(&peak), 480 * 480, 1);  // (Σ w / 2)²
    EXPECT_EQ(peak, 100);
  }
}

TEST(Spectrum, InverseRestoresTheSound) {
  for (const SpectrumOptions options :
       {SpectrumOptions{.window = hamming, .length = 1920, .hop = 384},
        SpectrumOptions{.window = hamming, .length = 80, .hop = 16}, SpectrumOptions{.window = {}, .length = 480, .hop = 160},
        SpectrumOptions{.window = hamming, .length = 81, .hop = 81},
        SpectrumOptions{.window = {}, .length = 50, .hop = 20, .fft = 64}}) {
    const Index samples = 2 * options.span() + 7 * options.hop + 5;
    const Vector<double> x = random_vector<double>(samples, 2);
    const Vector<double> y = istft<double>(stft<double>(x, options), samples, options);
    const Index end = options.span() + (options.frames(samples) - 1) * options.hop;
    EXPECT_GE(samples - end, 0);
    EXPECT_LT(samples - end, options.hop);
    const Index margin = (options.span() - options.length) / 2 + 1;  // zeros around the window, and the zero of a Hann window
    for (Index t = margin; t < end - margin; ++t) {
      ASSERT_NEAR(y[t], x[t], 1e-12) << options.length << ": sample " << t;
    }
    EXPECT_TRUE((y.tail(samples - end).array() == 0).all()) << "no frame reaches the end";
  }
}

TEST(Spectrum, SamplesAreZeroWhereTheWindowIsZero) {
  const SpectrumOptions options{.window = {}, .length = 16, .hop = 4};
  const Vector<double> x = Vector<double>::Ones(32);
  const Vector<double> y = istft<double>(stft<double>(x, options), 32, options);
  EXPECT_EQ(y[0], 0) << "a Hann window begins with 0";
  EXPECT_NEAR(y[1], 1, 1e-12);
}

TEST(Spectrum, FloatResultsEqualRoundedDoubleResults) {
  const SpectrumOptions options{.window = hamming, .length = 400, .hop = 160};
  const Vector<float> x = random_vector<float>(2000, 3);
  const auto in_float = stft<float>(x, options);
  const auto in_double = stft<double>(x.cast<double>(), options);
  EXPECT_EQ(in_float, in_double.cast<std::complex<float>>());
}

TEST(Spectrum, AcceptsOneChannelOfStereo) {
  const Matrix<float> stereo = test::random_matrix<float>(1000, 2, 4);
  const Vector<float> right = stereo.col(1);
  EXPECT_EQ(power_spectrum<float>(stereo.col(1), {}), power_spectrum<float>(right, {}));
  EXPECT_EQ(power_spectrum<float>(Eigen::Map<const Vector<float>>(right.data(), right.size()), {}),
            power_spectrum<float>(right, {}));
}

TEST(Spectrum, RefusesInvalidOptionsAndShapes) {
  const Vector<double> x = Vector<double>::Zero(100);
  expect_error<ShapeError>([&] { stft<double>(x, {.length = 101}); },
                           {"stft: 100 samples", "at least 101, the length of a frame"});
  expect_error<ShapeError>([&] { power_spectrum<double>(x, {.length = 60, .fft = 128}); },
                           {"power_spectrum", "at least 128, the length of a frame"});
  expect_error<ArgumentError>([&] { stft<double>(x, {.length = 0}); }, {"length is 0 and hop is 160"});
  expect_error<ArgumentError>([&] { power_spectrum<double>(x, {.length = 10, .hop = 0}); }, {"length is 10 and hop is 0"});
  expect_error<ArgumentError>([&] { stft<double>(x, {.length = 10, .fft = 9}); }, {"fft is 9, expected at least length = 10"});
  const auto spectrum = stft<double>(x, {.length = 20, .hop = 10});
  expect_error<ShapeError>([&] { istft<double>(spectrum, 110, {.length = 20, .hop = 10}); },
                           {"istft: the spectrum is 9 × 11, expected 10 frames × 11 bins for 110 samples"});
  expect_error<ShapeError>([&] { istft<double>(spectrum, 19, {.length = 20, .hop = 10}); }, {"istft: 19 samples"});
}

}  // namespace
}  // namespace gated::spectrum_test
