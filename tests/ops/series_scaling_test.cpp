#include "gated/ops/series_scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gated/ops/elementwise.hpp"
#include "tests/ops/op.hpp"

namespace gated::series_scaling_test {
namespace {

using test::random_matrix;

constexpr SeriesScaling scalings[]{SeriesScaling::standard, SeriesScaling::mean, SeriesScaling::none};

struct Scaled {
  Matrix<double> x, location, scale;
};

template <class T>
Scaled scaled(const Matrix<T>& x, const Sequences& items, SeriesScaling scaling, const std::vector<std::uint8_t>& observed = {},
              Threads threads = {}) {
  Workspace<T> workspace(threads);
  const auto frame = workspace.frame();
  Batch<T> run(workspace, items);
  const auto y = scale_series(run, RunMatrix<T>(input_view<T>(x)), scaling, observed);
  const auto wide = [&](const auto& rows) { return Matrix<double>(ConstView<T>(run[rows]).template cast<double>()); };
  return {wide(y.x), wide(y.location), wide(y.scale)};
}

TEST(ScaleSeries, EqualsItsFormula) {
  Matrix<double> x(2, 4);
  x << 1, -3, 100, 2, 5, 5, 5, 5;
  const std::vector<std::uint8_t> observed{1, 1, 0, 1, 1, 1, 1, 1};
  const auto items = Sequences::single(2);
  const auto standard = scaled(x, items, SeriesScaling::standard, observed);
  EXPECT_DOUBLE_EQ(standard.location(0, 0), 0);
  EXPECT_DOUBLE_EQ(standard.scale(0, 0), std::sqrt(14.0 / 3 + 1e-5));
  EXPECT_DOUBLE_EQ(standard.x(0, 2), 100 / std::sqrt(14.0 / 3 + 1e-5)) << "gaps are scaled too";
  EXPECT_DOUBLE_EQ(standard.location(1, 0), 5);
  EXPECT_DOUBLE_EQ(standard.scale(1, 0), std::sqrt(1e-5)) << "a constant series";
  EXPECT_TRUE(standard.x.row(1).isZero(0));
  const auto mean = scaled(x, items, SeriesScaling::mean, observed);
  EXPECT_TRUE(mean.location.isZero(0));
  EXPECT_DOUBLE_EQ(mean.scale(0, 0), 2);
  EXPECT_DOUBLE_EQ(mean.x(0, 1), -1.5);
  EXPECT_DOUBLE_EQ(mean.scale(1, 0), 5);
  EXPECT_DOUBLE_EQ(scaled(Matrix<double>(Matrix<double>::Zero(1, 3)), Sequences::single(1), SeriesScaling::mean).scale(0, 0),
                   1e-10);
  const auto none = scaled(x, items, SeriesScaling::none, observed);
  EXPECT_EQ(none.x, x);
  EXPECT_TRUE(none.location.isZero(0));
  EXPECT_TRUE(none.scale.isOnes(0));
}

TEST(ScaleSeries, HandlesSeriesWithoutObservations) {
  Matrix<double> x(5, 3);  // items of two, two and one series
  x << 1, 2, 3, 4, 5, 6, 7, -8, 9, 10, 11, 12, 1, 1, 1;
  const auto items = Sequences::of_lengths({2, 2, 1});
  std::vector<std::uint8_t> observed(15, 1);
  std::fill_n(observed.begin(), 6, std::uint8_t{0});  // hides both series of the first item
  observed[7] = 0;                                    // hides the -8
  const auto standard = scaled(x, items, SeriesScaling::standard, observed);
  EXPECT_DOUBLE_EQ(standard.location(0, 0), 0);
  EXPECT_DOUBLE_EQ(standard.scale(0, 0), std::sqrt(1e-5));
  const auto mean = scaled(x, items, SeriesScaling::mean, observed);
  EXPECT_DOUBLE_EQ(mean.scale(0, 0), (7 + 9 + 1 + 1 + 1) / 5.0) << "computed from series 0 of the other items";
  EXPECT_DOUBLE_EQ(mean.scale(1, 0), 11);
  EXPECT_DOUBLE_EQ(mean.scale(2, 0), 8);
  EXPECT_DOUBLE_EQ(scaled(x, items, SeriesScaling::mean, std::vector<std::uint8_t>(15, 0)).scale(4, 0), 1e-10);
}

TEST(ScaleSeries, IsAccurateFarFromZero) {
  const Matrix<float> x = (random_matrix<float>(3, 500, 1).array() * 0.25F + 4096.0F).matrix();
  const auto y = scaled(x, Sequences::single(3), SeriesScaling::standard);
  for (Index i = 0; i < 3; ++i) {
    const auto row = x.row(i).cast<double>().eval();
    const double deviation = std::sqrt((row.array() - row.mean()).square().mean() + 1e-5);
    EXPECT_NEAR(y.scale(i, 0), deviation, 1e-6 * deviation);
    EXPECT_LT((y.x.row(i) - ((row.array() - row.mean()) / deviation).matrix()).cwiseAbs().maxCoeff(), 1e-6);
  }
}

TEST(ScaleSeries, IsBitEqualForAnyNumberOfThreads) {
  const auto x = random_matrix<float>(200, 33, 1);
  for (const SeriesScaling scaling : scalings) {
    const auto one = scaled(x, Sequences::uniform(50, 4), scaling);
    const auto three = scaled(x, Sequences::uniform(50, 4), scaling, {}, Threads{3});
    EXPECT_EQ(one.x, three.x);
    EXPECT_EQ(one.scale, three.scale);
  }
}

TEST(ScaleSeries, TreatsNaNAsAGap) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto x = random_matrix<double>(4, 6, 1);
  std::vector<std::uint8_t> mask(24, 1);
  mask[8] = mask[9] = mask[20] = 0;
  std::fill_n(mask.begin() + 12, 6, std::uint8_t{0});  // hides a whole series
  Matrix<double> zeros = x;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    zeros.data()[i] *= mask[i];
  }
  for (const SeriesScaling scaling : scalings) {
    SCOPED_TRACE(name_of(scaling));
    const auto expected = scaled(zeros, Sequences::uniform(2, 2), scaling, mask);
    for (const double junk : {nan, infinity, -infinity}) {
      Matrix<double> bad = zeros;
      for (std::size_t i = 0; i < mask.size(); ++i) {
        bad.data()[i] = mask[i] != 0 ? bad.data()[i] : junk;
      }
      const auto y = scaled(bad, Sequences::uniform(2, 2), scaling, mask);
      EXPECT_EQ(y.x, expected.x) << junk;
      EXPECT_EQ(y.location, expected.location) << junk;
      EXPECT_EQ(y.scale, expected.scale) << junk;
      if (std::isnan(junk)) {
        for (const auto& other : {std::vector<std::uint8_t>(), std::vector<std::uint8_t>(24, 1)}) {
          EXPECT_EQ(scaled(bad, Sequences::uniform(2, 2), scaling, other).x, expected.x) << "no mask, or a mask without gaps";
        }
      }
    }
  }
}

TEST(ScaleSeries, KeepsInfinitiesInTheirSeries) {
  const auto x = random_matrix<double>(3, 6, 1);
  Matrix<double> bad = x;
  bad(1, 2) = std::numeric_limits<double>::infinity();
  for (const SeriesScaling scaling : {SeriesScaling::standard, SeriesScaling::mean}) {
    const auto clean = scaled(x, Sequences::single(3), scaling), spoiled = scaled(bad, Sequences::single(3), scaling);
    EXPECT_TRUE(std::isnan(spoiled.x(1, 2)));
    EXPECT_EQ(spoiled.x.row(0), clean.x.row(0));
    EXPECT_EQ(spoiled.x.row(2), clean.x.row(2));
  }
}

struct Nothing {
  static constexpr auto fields() { return Fields(); }
};

/// Gradients through x̂, μ, σ and unscale_series().
TEST(ScaleSeries, BackpropagatesThroughItsMoments) {
  const auto items = Sequences::of_lengths({2, 1, 2});
  std::vector<std::uint8_t> some(35);
  for (std::size_t i = 0; i < some.size(); ++i) {
    some[i] = i % 3 == 0 || i < 14 ? 0 : 1;  // no observation in the first item
  }
  const auto x = random_matrix<double>(5, 7, 1);
  const std::vector<std::uint8_t> all, none(35, 0);
  for (const SeriesScaling scaling : scalings) {
    for (const auto& observed : {all, some, none}) {
      test::expect_gradients(Nothing(), x, [&](Tape<double>& tape, const Nothing&, Variable input) {
        Recording<double> run(tape, items);
        const auto y = scale_series(run, input, scaling, observed);
        return unscale_series(run, activate(run, y.x, Activation::gelu), y.location, y.scale);
      });
    }
  }
}

TEST(UnscaleSeries, InvertsScaleSeries) {
  const auto x = random_matrix<double>(5, 7, 1);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(5));
  for (const SeriesScaling scaling : scalings) {
    const auto y = scale_series(run, RunMatrix<double>(input_view<double>(x)), scaling, {});
    const Matrix<double> back = run[unscale_series(run, y.x, y.location, y.scale)];
    EXPECT_TRUE(back.isApprox(x, 1e-14));
    RunMatrix<double> own = run.owned(y.x);
    const double* const place = own.data;
    EXPECT_EQ(unscale_series(run, std::move(own), y.location, y.scale).data, place);
  }
}

TEST(ScaleSeries, RefusesMasksOfOtherLengths) {
  const auto x = random_matrix<double>(5, 7, 1);
  EXPECT_EQ(test::message_of<ShapeError>(
                [&] { scaled(x, Sequences::single(5), SeriesScaling::mean, std::vector<std::uint8_t>(34, 1)); }),
            "scale_series: the mask has 34 entries, expected 5 × 7, one per element of x.");
}

}  // namespace
}  // namespace gated::series_scaling_test
