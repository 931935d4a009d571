#include "gated/audio/log_mel.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::log_mel_test {
namespace {

using test::expect_error;
using test::random_vector;

/// Feature options for a small network: frames of 80 samples at 8 kHz, a 128-point FFT.
LogMelOptions small() {
  LogMelOptions options = mossformer2_features();
  options.rate = 8000;
  options.length = 80;
  options.hop = 16;
  options.mels = 8;
  return options;
}

/// Reference log energies of frame f, computed step by step.
Vector<double> literal_frame(const Vector<double>& sound, const LogMelOptions& o, Index f) {
  Vector<double> x = sound.segment(f * o.hop, o.length) * o.scale;
  x.array() -= x.mean();
  Vector<double> y = x;
  for (Index i = 0; i < o.length; ++i) {
    y[i] = x[i] - 0.97 * x[i == 0 ? 0 : i - 1];
  }
  y = y.cwiseProduct(window_weights(o.window, o.length)).eval();
  const Index n = o.fft();
  Vector<double> powers(n / 2 + 1);
  for (Index k = 0; k <= n / 2; ++k) {
    std::complex<double> sum = 0;
    for (Index i = 0; i < o.length; ++i) {
      sum += y[i] * std::polar(1.0, -2 * std::acos(-1.0) * static_cast<double>(i * k % n) / static_cast<double>(n));
    }
    powers[k] = std::norm(sum);
  }
  const MelBank bank({.form = MelForm::kaldi, .bands = o.mels, .rate = o.rate, .fft = n, .low = o.low});
  return (bank.weights() * powers).cwiseMax(o.floor).array().log();
}

TEST(LogMel, EqualsItsFormula) {
  const LogMelOptions options = small();
  ASSERT_EQ(options.fft(), 128);
  const Vector<double> x = random_vector<double>(500, 1, 0.1);
  const Matrix<double> features = log_mel_features<double>(x, options);
  ASSERT_EQ(features.rows(), 1 + (500 - 80) / 16);
  ASSERT_EQ(features.cols(), 24);
  for (Index f = 0; f < features.rows(); ++f) {
    EXPECT_LT((features.row(f).head(8).transpose() - literal_frame(x, options, f)).cwiseAbs().maxCoeff(), 1e-10) << f;
  }
}

TEST(LogMel, DeltasRepeatTheFirstAndLastFrames) {
  const Matrix<double> features = log_mel_features<double>(random_vector<double>(500, 2, 0.1), small());
  const Index last = features.rows() - 1;
  for (Index d = 1; d <= 2; ++d) {
    const auto x = features.middleCols((d - 1) * 8, 8), y = features.middleCols(d * 8, 8);
    for (Index t = 0; t <= last; ++t) {
      for (Index j = 0; j < 8; ++j) {
        double slope = 0;
        for (Index n = 1; n <= 2; ++n) {
          slope += static_cast<double>(n) * (x(std::min(t + n, last), j) - x(std::max<Index>(t - n, 0), j)) / 10;
        }
        EXPECT_NEAR(y(t, j), slope, 1e-13);
      }
    }
  }
}

TEST(LogMel, SilenceIsAtTheFloor) {
  const Matrix<float> features = log_mel_features<float>(Vector<float>::Constant(7680, 0.5f), mossformer2_features());
  EXPECT_EQ(features.rows(), 16);
  EXPECT_EQ(features.cols(), 180);
  EXPECT_TRUE((features.leftCols(60).array() == static_cast<float>(std::log(0x1p-23))).all())
      << "the mean of each frame is subtracted";
  EXPECT_TRUE((features.rightCols(120).array() == 0).all());
}

TEST(LogMel, DoublingTheAmplitudeAddsLog4) {
  LogMelOptions options = small();
  options.deltas = 0;
  const Vector<double> x = random_vector<double>(400, 3, 0.1);
  const Matrix<double> quiet = log_mel_features<double>(x, options), loud = log_mel_features<double>(2 * x, options);
  EXPECT_LT(((loud - quiet).array() - std::log(4.0)).abs().maxCoeff(), 1e-12);
}

TEST(LogMel, FramesDoNotDependOnEachOther) {
  LogMelOptions options = small();
  options.deltas = 0;
  const Vector<float> x = random_vector<float>(80 + 29 * 16, 4, 0.1);
  const Matrix<float> all = log_mel_features<float>(x, options);
  for (Index f = 0; f < all.rows(); ++f) {
    EXPECT_TRUE(test::same_bits(log_mel_features<float>(x.segment(f * 16, 80), options), all.row(f)));
  }
}

TEST(LogMel, FloatResultsAreRoundedDoubleResults) {
  const Vector<float> x = random_vector<float>(500, 5, 0.1);
  EXPECT_EQ(log_mel_features<float>(x, small()), log_mel_features<double>(x.cast<double>(), small()).cast<float>());
}

TEST(LogMel, RefusesShortSoundAndInvalidOptions) {
  const Vector<float> x = random_vector<float>(79, 6);
  expect_error<ShapeError>([&] { log_mel_features<float>(x, small()); },
                           {"log_mel_features: 79 samples, expected at least 80, the length of a frame. Append zeros"});
  const auto refuse = [&](auto&& change, std::string_view part) {
    LogMelOptions options = small();
    change(options);
    expect_error<ArgumentError>([&] { log_mel_features<float>(x, options); }, {part});
  };
  refuse([](LogMelOptions& o) { o.deltas = 3; }, "deltas is 3, expected 0, 1 or 2");
  refuse([](LogMelOptions& o) { o.floor = 0; }, "floor is 0");
  refuse([](LogMelOptions& o) { o.hop = 0; }, "hop is 0");
}

}  // namespace
}  // namespace gated::log_mel_test
