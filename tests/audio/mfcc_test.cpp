#include "gated/audio/mfcc.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::mfcc_test {
namespace {

using test::expect_error;
using test::random_vector;

/// Reference MFCCs, computed step by step.
Matrix<double> literal(const Vector<double>& sound, const MfccOptions& o) {
  const MelBank bank({.form = o.mel, .bands = o.mels, .rate = o.rate, .fft = o.spectrum.span()});
  Matrix<double> levels = power_spectrum<double>(sound, o.spectrum) * bank.weights().transpose();
  levels = levels.unaryExpr([&](double energy) { return 10 * std::log10(std::max(energy, 1e-10)); }).eval();
  levels = levels.cwiseMax(levels.maxCoeff() - 80).eval();
  const auto n = static_cast<double>(o.mels);
  Matrix<double> result(levels.rows(), o.coefficients);
  for (Index f = 0; f < levels.rows(); ++f) {
    for (Index k = 0; k < o.coefficients; ++k) {
      double sum = 0;
      for (Index j = 0; j < o.mels; ++j) {
        sum += levels(f, j) * std::cos(std::acos(-1.0) * static_cast<double>(k * (2 * j + 1)) / (2 * n));
      }
      result(f, k) = sum * std::sqrt((k == 0 ? 1 : 2) / n);
    }
  }
  return result;
}

TEST(Mfcc, EqualsItsFormula) {
  MfccOptions options = keyword_mlp_mfcc();
  const Vector<double> x = random_vector<double>(16000, 1, 0.1);
  const Matrix<double> coefficients = mfcc<double>(x, options);
  ASSERT_EQ(coefficients.rows(), 98);
  ASSERT_EQ(coefficients.cols(), 40);
  EXPECT_LT((coefficients - literal(x, options)).cwiseAbs().maxCoeff(), 1e-10);
  options = {.rate = 8000, .samples = 0, .spectrum = {.length = 200, .hop = 80, .fft = 256}, .mels = 20, .coefficients = 13};
  EXPECT_LT((mfcc<double>(x.head(1000), options) - literal(x.head(1000), options)).cwiseAbs().maxCoeff(), 1e-10);
}

TEST(Mfcc, CutsOrPadsToOneSecond) {
  const Vector<double> x = random_vector<double>(17000, 2, 0.1);
  EXPECT_EQ(mfcc<double>(x, keyword_mlp_mfcc()), mfcc<double>(x.head(16000), keyword_mlp_mfcc()));
  Vector<double> padded = Vector<double>::Zero(16000);
  padded.head(5600) = x.head(5600);
  EXPECT_EQ(mfcc<double>(x.head(5600), keyword_mlp_mfcc()), mfcc<double>(padded, keyword_mlp_mfcc()));
  EXPECT_EQ(mfcc<double>(Vector<double>(), keyword_mlp_mfcc()).rows(), 98);
}

TEST(Mfcc, SilentFramesAre80DecibelsBelowTheLoudest) {
  Vector<double> x = Vector<double>::Zero(16000);
  x.head(3000) = random_vector<double>(3000, 3, 0.1);
  const Matrix<double> coefficients = mfcc<double>(x, keyword_mlp_mfcc());
  const double level = coefficients(97, 0) / std::sqrt(40.0);  // all bands are equal
  EXPECT_LT(coefficients.row(97).tail(39).cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_LT(coefficients(0, 0) / std::sqrt(40.0) - level, 80);
  EXPECT_GT(level, -99) << "least_power is -100 dB";
  EXPECT_NEAR(mfcc<double>(10 * x, keyword_mlp_mfcc())(97, 0) / std::sqrt(40.0), level + 20, 1e-9);
}

TEST(Mfcc, DctIsOrthonormal) {
  const Matrix<double> cosines = detail::cosine_transform(40);
  EXPECT_LT((cosines * cosines.transpose() - Matrix<double>::Identity(40, 40)).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(Mfcc, RefusesShortSoundAndInvalidOptions) {
  const Vector<float> x = random_vector<float>(479, 4);
  expect_error<ShapeError>([&] { mfcc<float>(x, {.samples = 0}); },
                           {"mfcc: 479 samples", "at least 480, the length of a frame"});
  expect_error<ArgumentError>([&] { mfcc<float>(x, {.coefficients = 41}); }, {"coefficients is 41, expected 1 to mels = 40"});
  expect_error<ArgumentError>([&] { mfcc<float>(x, {.least_power = 0}); }, {"least_power is 0"});
  expect_error<ArgumentError>([&] { mfcc<float>(x, {.spectrum = {.hop = 0}}); }, {"hop is 0"});
}

}  // namespace
}  // namespace gated::mfcc_test
