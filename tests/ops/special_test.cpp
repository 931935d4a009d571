#include "gated/ops/special.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/core/numbers.hpp"
#include "tests/ops/on_vectors.hpp"

namespace gated {
namespace {

constexpr auto vector_erf = [](auto x) { return erf(x); };
constexpr auto vector_tanh = [](auto x) { return tanh(x); };
constexpr auto vector_logistic = [](auto x) { return logistic(x); };

/// Evenly spaced points in [0, limit] and points that crowd towards 0 by factors, of both signs.
template <class T>
std::vector<T> dense_grid(double limit) {
  std::vector<T> x;
  const int points = 40000;
  for (int i = 0; i <= points; ++i) {
    x.push_back(static_cast<T>(limit * i / points));
  }
  for (double v = limit; v > 4 * static_cast<double>(std::numeric_limits<T>::min()); v *= 0.99) {
    x.push_back(static_cast<T>(v));
  }
  const std::size_t count = x.size();
  for (std::size_t i = 0; i < count; ++i) {
    x.push_back(-x[i]);
  }
  return x;
}

/// The largest error of f over x, in units of the last place.
template <class T, class F>
double worst_ulp(const F& f, long double (*exact)(long double), const std::vector<T>& x) {
  const std::vector<T> y = test::on_vectors(f, x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, test::distance_in_ulp(y[i], exact(static_cast<long double>(x[i]))));
  }
  return worst;
}

long double exact_erf(long double x) { return std::erf(x); }
long double exact_tanh(long double x) { return std::tanh(x); }
long double exact_logistic(long double x) { return 1 / (1 + std::exp(-x)); }

TEST(Erf, IsWithinItsBoundInUlp) {
  const double single = worst_ulp(vector_erf, exact_erf, dense_grid<float>(4.5));
  const double twice = worst_ulp(vector_erf, exact_erf, dense_grid<double>(6.5));
  RecordProperty("float_ulp", std::to_string(single));
  RecordProperty("double_ulp", std::to_string(twice));
  EXPECT_LE(single, 6.0);
  EXPECT_LE(twice, 9.0);
}

TEST(Tanh, IsWithinItsBoundInUlp) {
  const double single = worst_ulp(vector_tanh, exact_tanh, dense_grid<float>(10));
  const double twice = worst_ulp(vector_tanh, exact_tanh, dense_grid<double>(21));
  RecordProperty("float_ulp", std::to_string(single));
  RecordProperty("double_ulp", std::to_string(twice));
  EXPECT_LE(single, 6.0);
  EXPECT_LE(twice, 7.0);
}

TEST(Logistic, IsWithinItsBoundInUlp) {
  const double single = worst_ulp(vector_logistic, exact_logistic, dense_grid<float>(80));
  const double twice = worst_ulp(vector_logistic, exact_logistic, dense_grid<double>(690));
  RecordProperty("float_ulp", std::to_string(single));
  RecordProperty("double_ulp", std::to_string(twice));
  EXPECT_LE(single, 5.0);
  EXPECT_LE(twice, 3.0);
}

template <class T>
class SpecialOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpecialOf, Scalars, );

TYPED_TEST(SpecialOf, ErfAndTanhAreExactlyOddAndWithinOneButForRounding) {
  for (const bool is_erf : {true, false}) {
    const auto f = [&](const std::vector<TypeParam>& x) {
      return is_erf ? test::on_vectors(vector_erf, x) : test::on_vectors(vector_tanh, x);
    };
    const std::vector<TypeParam> x = dense_grid<TypeParam>(21), y = f(x);
    for (std::size_t i = 0; i < x.size() / 2; ++i) {
      ASSERT_EQ(test::bits_of(y[i]), test::bits_of(-y[i + x.size() / 2])) << x[i];
      ASSERT_LE(y[i], 1 + 4 * std::numeric_limits<TypeParam>::epsilon()) << x[i];
    }
  }
}

TYPED_TEST(SpecialOf, ErfAndTanhSaturateAtExactlyOne) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  for (const TypeParam x : {TypeParam{20}, TypeParam{150}, TypeParam(1e30), std::numeric_limits<TypeParam>::max(), infinity}) {
    EXPECT_EQ(test::on_scalar(vector_erf, x), TypeParam{1}) << x;
    EXPECT_EQ(test::on_scalar(vector_erf, -x), TypeParam{-1}) << x;
    EXPECT_EQ(test::on_scalar(vector_tanh, x), TypeParam{1}) << x;
    EXPECT_EQ(test::on_scalar(vector_tanh, -x), TypeParam{-1}) << x;
  }
}

TYPED_TEST(SpecialOf, ErfAndTanhKeepZeroAndItsSign) {
  for (const TypeParam x : {TypeParam{0}, -TypeParam{0}}) {
    EXPECT_EQ(test::bits_of(test::on_scalar(vector_erf, x)), test::bits_of(x));
    EXPECT_EQ(test::bits_of(test::on_scalar(vector_tanh, x)), test::bits_of(x));
  }
}

TYPED_TEST(SpecialOf, NaNStaysNaN) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_erf, nan)));
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_tanh, nan)));
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_logistic, nan)));
  EXPECT_TRUE(std::isnan(test::on_scalar([](auto x) { return normal_density(x); }, nan)));
}

TYPED_TEST(SpecialOf, ANumberDoesNotDependOnItsLane) {
  const auto count = static_cast<int>(2 * Simd<TypeParam>::width + 1);
  for (const double v : {0.3, 1.7, 2.9, 30.0}) {
    const std::vector<TypeParam> x(static_cast<std::size_t>(count), static_cast<TypeParam>(v));
    for (const auto& y : {test::on_vectors(vector_erf, x), test::on_vectors(vector_tanh, x)}) {
      EXPECT_EQ(y, std::vector<TypeParam>(x.size(), y.front()));
    }
  }
}

TYPED_TEST(SpecialOf, LogisticStaysWithinZeroAndOne) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  for (const TypeParam x : {TypeParam{150}, TypeParam{1000}, TypeParam(1e30), infinity}) {
    EXPECT_EQ(test::on_scalar(vector_logistic, x), TypeParam{1}) << x;
    EXPECT_GE(test::on_scalar(vector_logistic, -x), TypeParam{0}) << x;
    EXPECT_LE(test::on_scalar(vector_logistic, -x), TypeParam(1e-37)) << x;
  }
  EXPECT_EQ(test::on_scalar(vector_logistic, TypeParam{0}), TypeParam(0.5));
}

TYPED_TEST(SpecialOf, NormalDensityIsTheDensityAndVanishesFarOut) {
  const auto density = [](auto x) { return normal_density(x); };
  for (const double x : {0.0, 0.5, -1.0, 2.5, -6.0}) {
    const double expected = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    EXPECT_TRUE(test::close(test::on_scalar(density, static_cast<TypeParam>(x)), expected,
                            8 * static_cast<long double>(std::numeric_limits<TypeParam>::epsilon()) * expected))
        << x;
  }
  for (const TypeParam x : {TypeParam{150}, TypeParam(-1e30), std::numeric_limits<TypeParam>::infinity()}) {
    EXPECT_TRUE(test::close(test::on_scalar(density, x), 0, 1e-38L)) << x;
  }
}

}  // namespace
}  // namespace gated
