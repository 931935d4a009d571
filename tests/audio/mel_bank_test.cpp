#include "gated/audio/mel_bank.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::mel_bank_test {
namespace {

using test::expect_error;

TEST(MelBank, ScalesHaveTheirKnownValues) {
  // The examples in the documentation of librosa's hz_to_mel() and mel_to_hz().
  EXPECT_NEAR(mel_of(MelForm::slaney, 60), 0.9, 1e-12);
  EXPECT_NEAR(mel_of(MelForm::slaney, 440), 6.6, 1e-12);
  EXPECT_NEAR(hertz_of(MelForm::slaney, 3), 200, 1e-12);
  EXPECT_NEAR(mel_of(MelForm::slaney, 6400), 15 + 27, 1e-12) << "27 steps from 1000 Hz to 6400 Hz";
  EXPECT_NEAR(mel_of(MelForm::kaldi, 700), 1127 * std::log(2.0), 1e-9);
  for (const MelForm form : {MelForm::kaldi, MelForm::slaney}) {
    for (const double f : {0.0, 20.0, 999.0, 1000.0, 1001.0, 24000.0}) {
      EXPECT_NEAR(hertz_of(form, mel_of(form, f)), f, 1e-9);
    }
  }
}

/// The weight of bin k in band b.
double literal_weight(const MelOptions& o, Index b, Index k) {
  const bool kaldi = o.form == MelForm::kaldi;
  const double top = o.high == 0 ? static_cast<double>(o.rate) / 2 : o.high, low = mel_of(o.form, o.low);
  const auto edge = [&](Index i) {
    const double mel = low + (mel_of(o.form, top) - low) * static_cast<double>(i) / static_cast<double>(o.bands + 1);
    return kaldi ? mel : hertz_of(o.form, mel);
  };
  const double f = static_cast<double>(k) * static_cast<double>(o.rate) / static_cast<double>(o.fft);
  const double m = kaldi ? mel_of(o.form, f) : f;
  const double up = (m - edge(b)) / (edge(b + 1) - edge(b)), down = (edge(b + 2) - m) / (edge(b + 2) - edge(b + 1));
  return std::max(0.0, std::min(up, down)) * (kaldi ? 1 : 2 / (edge(b + 2) - edge(b)));
}

TEST(MelBank, EqualsItsFormula) {
  for (const MelOptions& options :
       {MelOptions{.form = MelForm::kaldi, .bands = 60, .rate = 48000, .fft = 2048, .low = 20},
        MelOptions{.form = MelForm::kaldi, .bands = 8, .rate = 8000, .fft = 128, .low = 100, .high = 3800},
        MelOptions{.form = MelForm::kaldi, .bands = 40, .rate = 16000, .fft = 481},
        MelOptions{.form = MelForm::slaney, .bands = 40, .rate = 16000, .fft = 480},
        MelOptions{.form = MelForm::slaney, .bands = 5, .rate = 8000, .fft = 81, .low = 50, .high = 3000}}) {
    const MelBank bank(options);
    const Matrix<double> weights = bank.weights();
    ASSERT_EQ(weights.rows(), options.bands);
    ASSERT_EQ(weights.cols(), options.fft / 2 + 1);
    const Vector<double> powers = test::random_vector<double>(weights.cols(), 1).cwiseAbs();
    for (Index b = 0; b < options.bands; ++b) {
      for (Index k = 0; k < weights.cols(); ++k) {
        EXPECT_NEAR(weights(b, k), literal_weight(options, b, k), 1e-12) << "band " << b << ", bin " << k;
      }
      EXPECT_NEAR(bank.energy(b, [&](Index k) { return powers[k]; }), weights.row(b).dot(powers), 1e-12);
    }
  }
}

TEST(MelBank, KaldiTrianglesSumToOne) {
  const MelBank bank({.form = MelForm::kaldi, .bands = 60, .rate = 48000, .fft = 2048, .low = 20});
  const Vector<double> sums = bank.weights().colwise().sum();
  EXPECT_LT((sums.segment(10, 900).array() - 1).abs().maxCoeff(), 1e-12) << "from the first centre to the last";
  EXPECT_EQ(sums[1024], 0) << "the Nyquist bin is left out";
}

TEST(MelBank, RefusesImpossibleEdges) {
  expect_error<ArgumentError>([] { MelBank({.low = 4000, .high = 4000}); }, {"low is 4000 and high is 4000"});
  expect_error<ArgumentError>([] { MelBank({.rate = 16000, .high = 8001}); }, {"high is 8001", "≤ 8000, half the rate"});
  expect_error<ArgumentError>([] { MelBank({.low = -1}); }, {"low is -1"});
  expect_error<ArgumentError>([] { MelBank({.bands = 0}); }, {"bands is 0"});
}

}  // namespace
}  // namespace gated::mel_bank_test
