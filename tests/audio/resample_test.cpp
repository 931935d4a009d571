#include "gated/audio/resample.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::resample_test {
namespace {

using test::expect_error;

/// Pairs of rates: integer ratios, 44.1 kHz and its fractions, and rates with a small common factor or none.
constexpr std::array<std::array<Index, 2>, 12> pairs{{{16000, 48000},
                                                      {48000, 16000},
                                                      {48000, 8000},
                                                      {8000, 96000},
                                                      {44100, 48000},
                                                      {48000, 44100},
                                                      {44100, 16000},
                                                      {22050, 48000},
                                                      {96000, 11025},
                                                      {8001, 9973},
                                                      {47999, 48000},
                                                      {95999, 8000}}};

/// `count` samples of sin(2π f t + 0.7) at this rate.
Matrix<double> tone(double f, Index rate, Index count) {
  Matrix<double> x(count, 1);
  for (Index t = 0; t < count; ++t) {
    x(t, 0) = std::sin(2 * std::acos(-1.0) * f * static_cast<double>(t) / static_cast<double>(rate) + 0.7);
  }
  return x;
}

/// The largest difference from `expected`, except near the ends, where the filter reaches the zero padding.
double worst(const Matrix<double>& y, const Matrix<double>& expected, Index from, Index to) {
  const Index edge = 70 * to / std::min(from, to);
  return (y - expected).middleRows(edge, y.rows() - 2 * edge).cwiseAbs().maxCoeff();
}

constexpr double decibels_90 = 3.16e-5;  // 10^(-90/20)

TEST(Resample, KeepsTonesBelowTheBandEdge) {
  for (const auto& [from, to] : pairs) {
    const double half = static_cast<double>(std::min(from, to)) / 2;
    for (const double part : {0.0123, 0.3, 0.77, 0.9}) {
      const Index count = 300 * from / std::min(from, to);
      const Matrix<double> y = resample<double>(tone(part * half, from, count), from, to);
      // The difference includes errors of amplitude and delay, and all spectral images.
      EXPECT_LT(worst(y, tone(part * half, to, y.rows()), from, to), decibels_90) << from << " to " << to << ", " << part;
    }
  }
}

TEST(Resample, RemovesTonesAtAndAboveTheBandEdge) {
  for (const auto& [from, to] : pairs) {
    const double half = static_cast<double>(to) / 2;
    for (const double part : {1.0, 1.003, 1.1, 1.7, 2.3, 4.6, 5.9}) {
      if (part * half < static_cast<double>(from) / 2) {
        const Index count = 300 * from / to;
        const Matrix<double> y = resample<double>(tone(part * half, from, count), from, to);
        EXPECT_LT(worst(y, Matrix<double>::Zero(y.rows(), 1), from, to), decibels_90) << from << " to " << to << ", " << part;
      }
    }
  }
}

TEST(Resample, KeepsConstantsUpToRounding) {
  for (const auto& [from, to] : pairs) {
    const Matrix<double> ones = Matrix<double>::Ones(300 * from / std::min(from, to), 1);
    const Matrix<double> y = resample<double>(ones, from, to);
    EXPECT_LT(worst(y, Matrix<double>::Ones(y.rows(), 1), from, to), 1e-14) << from << " to " << to;
  }
}

TEST(Resample, RoundsTheOutputLengthUp) {
  EXPECT_EQ(resample<float>(Matrix<float>::Ones(0, 2), 8000, 48000).rows(), 0);
  EXPECT_EQ(resample<float>(Matrix<float>::Ones(0, 2), 8000, 48000).cols(), 2);
  for (const auto& [from, to] : pairs) {
    for (const Index frames : {1, 2, 5, 12, 100}) {
      EXPECT_EQ(resample<float>(Matrix<float>::Ones(frames, 1), from, to).rows(), (frames * to + from - 1) / from);
    }
  }
}

TEST(Resample, KeepsSamplesAtTimesCommonToBothRates) {
  const Matrix<double> x = resample<double>(test::random_matrix<double>(200, 1, 1), 8000, 12000);  // band-limited
  const Matrix<double> y = resample<double>(x, 12000, 48000);
  for (Index t = 60; t < 240; ++t) {
    EXPECT_NEAR(y(4 * t, 0), x(t, 0), 2e-4) << t;
  }
}

TEST(Resample, ChannelsDoNotAffectEachOther) {
  const Matrix<float> x = test::random_matrix<float>(500, 2, 2);
  const Matrix<float> y = resample<float>(x, 44100, 16000);
  for (Index c = 0; c < 2; ++c) {
    EXPECT_TRUE(test::same_bits(y.col(c), resample<float>(x.middleCols(c, 1), 44100, 16000)));
  }
}

TEST(Resample, CopiesAtEqualRates) {
  const Matrix<float> x = test::random_matrix<float>(500, 2, 3);
  EXPECT_TRUE(test::same_bits(resample<float>(x, 44100, 44100), x));
}

TEST(Resample, FloatResultsAreRoundedDoubleResults) {
  const Matrix<float> x = test::random_matrix<float>(300, 1, 4);
  EXPECT_EQ(resample<float>(x, 16000, 48000), resample<double>(x.cast<double>(), 16000, 48000).cast<float>());
}

TEST(Resample, RefusesRatesOutOfRange) {
  expect_error<ArgumentError>([] { resample<float>(Matrix<float>::Ones(3, 1), 7999, 48000); },
                              {"resample: a rate is 7999, expected 8000 to 96000 samples per second"});
  expect_error<ArgumentError>([] { resample<float>(Matrix<float>::Ones(3, 1), 8000, 96001); }, {"96001"});
}

}  // namespace
}  // namespace gated::resample_test
