#include "gated/models/simcc.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/numbers.hpp"

namespace gated::simcc_test {
namespace {

using test::message_of;

template <class T>
Matrix<T> row(std::initializer_list<T> values) {
  Matrix<T> m(1, static_cast<Index>(values.size()));
  std::copy(values.begin(), values.end(), m.data());
  return m;
}

/// The keypoint decoded from one row of x logits and one row of y logits.
template <class T>
KeyPoint<T> decoded(const Matrix<T>& x, const Matrix<T>& y, const SimccConfig& config = {}) {
  KeyPoint<T> point{.x = 7, .y = 7, .score = 7, .visibility = 7};
  decode_simcc<T>(x, y, config, std::span(&point, 1));
  return point;
}

template <class T>
class SimccOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SimccOf, Scalars, );

TYPED_TEST(SimccOf, DecodesTheLargestLogits) {
  using T = TypeParam;
  const auto point = decoded<T>(row<T>({1, 2, 5, 3}), row<T>({9, 1, 0}));
  EXPECT_EQ(point.x, T{1});
  EXPECT_EQ(point.y, T{0});
  EXPECT_EQ(point.score, T{5});
  EXPECT_EQ(point.visibility, T{0});
  EXPECT_EQ(decoded<T>(row<T>({1, 2, 5, 3}), row<T>({9, 1, 0}), {.split_ratio = 4}).x, T{0.5});
}

TYPED_TEST(SimccOf, DecodesTheFirstOfEqualLogits) {
  using T = TypeParam;
  const auto point = decoded<T>(row<T>({3, 4, 4, 4}), row<T>({2, 2, 2}));
  EXPECT_EQ(point.x, T{0.5});
  EXPECT_EQ(point.y, T{0});
}

TYPED_TEST(SimccOf, HasNoPointIfTheScoreIsNotPositive) {
  using T = TypeParam;
  for (const T score : {T{0}, T{-0.0}, T{-2}, -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
    for (const bool in_x : {true, false}) {
      const auto low = row<T>({score, score, score}), high = row<T>({1, 2, 3});
      const auto point = decoded<T>(in_x ? low : high, in_x ? high : low);
      EXPECT_EQ(point.x, T{-0.5});
      EXPECT_EQ(point.y, T{-0.5});
      EXPECT_TRUE(std::isnan(score) ? std::isnan(point.score) : point.score == score) << point.score;
    }
  }
  EXPECT_EQ(decoded<T>(row<T>({std::numeric_limits<T>::min(), 0}), row<T>({1})).x, T{0});
}

TYPED_TEST(SimccOf, HasNoPointIfALogitIsNaN) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const auto& x : {row<T>({nan, 1, 2}), row<T>({1, nan, 2}), row<T>({1, 2, nan})}) {
    const auto point = decoded<T>(x, row<T>({1, 2, 3}));
    EXPECT_EQ(point.x, T{-0.5});
    EXPECT_TRUE(std::isnan(point.score));
  }
}

TYPED_TEST(SimccOf, HandlesInfiniteLogits) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity();
  const auto point = decoded<T>(row<T>({1, infinity, 2}), row<T>({-infinity, 3}));
  EXPECT_EQ(point.x, T{0.5});
  EXPECT_EQ(point.y, T{0.5});
  EXPECT_EQ(point.score, T{3});
}

TYPED_TEST(SimccOf, VisibilityIsTheSmallerOfTwoProbabilities) {
  using T = TypeParam;
  const auto x = row<T>({T(0.01), T(0.02), T(-0.5)}), y = row<T>({T(0.3), T(0.299), T(0.29), T(0.3)});
  const SimccConfig config{.visibility = true, .beta = 20, .sigma_x = 3, .sigma_y = 5};
  const auto largest = [](const Matrix<T>& logits, double factor) {
    const Matrix<double> wide = logits.template cast<double>();
    return std::exp(factor * wide.maxCoeff()) / (factor * wide.array()).exp().sum();
  };
  const double expected = std::min(largest(x, 60), largest(y, 100));
  EXPECT_NEAR(static_cast<double>(decoded<T>(x, y, config).visibility), expected, sizeof(T) == 4 ? 1e-7 : 1e-14);
  const double of_y = std::min(largest(y, 60), largest(y, 100));
  EXPECT_NEAR(static_cast<double>(decoded<T>(y, y, config).visibility), of_y, sizeof(T) == 4 ? 1e-7 : 1e-14);
}

TYPED_TEST(SimccOf, VisibilityHandlesHugeLogits) {
  using T = TypeParam;
  const auto point = decoded<T>(row<T>({T(1e30), T(-1e30)}), row<T>({T(1e30), T(1e30)}), {.visibility = true});
  EXPECT_EQ(point.visibility, T{0.5});
}

TYPED_TEST(SimccOf, DecodesPartsOfAMatrix) {
  using T = TypeParam;
  const auto logits = test::random_matrix<T>(6, 9, 1);
  std::vector<KeyPoint<T>> points(6);
  decode_simcc<T>(logits.leftCols(4), logits.rightCols(5), {.visibility = true}, points);
  for (Index i = 0; i < 6; ++i) {
    const Matrix<T> x = logits.row(i).head(4), y = logits.row(i).tail(5);
    const auto alone = decoded<T>(x, y, {.visibility = true});
    const auto& point = points[static_cast<std::size_t>(i)];
    EXPECT_EQ(point.x, alone.x);
    EXPECT_EQ(point.y, alone.y);
    EXPECT_EQ(point.score, alone.score);
    EXPECT_EQ(point.visibility, alone.visibility);
  }
}

TEST(Simcc, RefusesMismatchedSizesBeforeWriting) {
  std::vector<KeyPoint<float>> points(2, {.score = 7});
  const auto refusal = [&](const Matrix<float>& x, const Matrix<float>& y) {
    return message_of<ShapeError>([&] { decode_simcc<float>(x, y, {}, points); });
  };
  EXPECT_EQ(refusal(Matrix<float>::Ones(2, 3), Matrix<float>::Ones(3, 3)),
            "decode_simcc: logits_x has 2 rows, logits_y has 3 and points has 2 elements, expected the same number.");
  EXPECT_EQ(refusal(Matrix<float>::Ones(3, 3), Matrix<float>::Ones(3, 3)),
            "decode_simcc: logits_x has 3 rows, logits_y has 3 and points has 2 elements, expected the same number.");
  EXPECT_EQ(refusal(Matrix<float>::Ones(2, 3), Matrix<float>(2, 0)),
            "decode_simcc: logits_x has 3 columns and logits_y has 0, expected at least one bin each.");
  EXPECT_EQ(points[0].score, 7);
  points.clear();
  decode_simcc<float>(Matrix<float>(0, 3), Matrix<float>(0, 4), {}, points);
}

}  // namespace
}  // namespace gated::simcc_test
