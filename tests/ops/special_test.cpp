#include "gated/ops/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/core/numbers.hpp"
#include "tests/ops/sweep.hpp"

namespace gated::special_test {
namespace {

constexpr auto vector_exp = [](auto x) { return exp_of_negative(x); };
constexpr auto vector_tanh = [](auto x) { return tanh(x); };
constexpr auto vector_logistic = [](auto x) { return logistic(x); };
constexpr auto vector_density = [](auto x) { return normal_density(x); };
constexpr auto vector_distribution = [](auto x) { return normal_distribution(x); };

template <class T>
class SpecialOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpecialOf, Scalars, );

TYPED_TEST(SpecialOf, TanhIsExactlyOddAndBounded) {
  std::vector<TypeParam> x = test::numbers_of_every_size<TypeParam>(), y = test::on_vectors(vector_tanh, x);
  std::vector<TypeParam> opposite(x.size());
  std::transform(x.begin(), x.end(), opposite.begin(), std::negate<>());
  opposite = test::on_vectors(vector_tanh, opposite);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(test::bits_of(y[i]), test::bits_of(-opposite[i])) << x[i];
    ASSERT_LE(std::fabs(y[i]), 1) << x[i];
  }
}

TYPED_TEST(SpecialOf, FunctionsSaturateExactly) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  for (const TypeParam x : {TypeParam{150}, TypeParam(1e30), std::numeric_limits<TypeParam>::max(), infinity}) {
    EXPECT_EQ(test::on_scalar(vector_tanh, x), 1) << x;
    EXPECT_EQ(test::on_scalar(vector_tanh, -x), -1) << x;
    EXPECT_EQ(test::on_scalar(vector_distribution, x), 1) << x;
    EXPECT_EQ(test::on_scalar(vector_distribution, -x), 0) << x;
    EXPECT_EQ(test::on_scalar(vector_density, x), 0) << x;
    EXPECT_EQ(test::on_scalar(vector_exp, x), 1) << x;
    EXPECT_EQ(test::on_scalar(vector_exp, -8 * x), 0) << x;
  }
}

TYPED_TEST(SpecialOf, TanhKeepsZeroAndItsSign) {
  for (const TypeParam x : {TypeParam{0}, -TypeParam{0}}) {
    EXPECT_EQ(test::bits_of(test::on_scalar(vector_tanh, x)), test::bits_of(x));
  }
}

TYPED_TEST(SpecialOf, ExpFlushesTinyResultsToZero) {  // because subnormals are slow
  for (const TypeParam x : test::on_vectors(vector_exp, test::numbers_of_every_size<TypeParam>())) {
    ASSERT_TRUE(x == 0 || x > TypeParam(0.7) * std::numeric_limits<TypeParam>::min()) << x;
  }
}

TYPED_TEST(SpecialOf, NaNStaysNaN) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_exp, nan)));
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_tanh, nan)));
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_logistic, nan)));
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_density, nan)));
  EXPECT_TRUE(std::isnan(test::on_scalar(vector_distribution, nan)));
}

TYPED_TEST(SpecialOf, AllLanesAgree) {
  const auto count = static_cast<int>(2 * Simd<TypeParam>::width + 1);
  for (const double v : {0.3, -1.7, 2.9, 30.0}) {
    const std::vector<TypeParam> x(static_cast<std::size_t>(count), static_cast<TypeParam>(v));
    for (const auto& y : {test::on_vectors(vector_exp, x), test::on_vectors(vector_tanh, x),
                          test::on_vectors(vector_logistic, x), test::on_vectors(vector_distribution, x)}) {
      EXPECT_EQ(y, std::vector<TypeParam>(x.size(), y.front()));
    }
  }
}

TYPED_TEST(SpecialOf, LogisticStaysInTheUnitInterval) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  for (const TypeParam x : {TypeParam{150}, TypeParam{1000}, TypeParam(1e30), infinity}) {
    EXPECT_EQ(test::on_scalar(vector_logistic, x), TypeParam{1}) << x;
    EXPECT_GE(test::on_scalar(vector_logistic, -x), TypeParam{0}) << x;
    EXPECT_LE(test::on_scalar(vector_logistic, -x), TypeParam(1e-37)) << x;
  }
  EXPECT_EQ(test::on_scalar(vector_logistic, TypeParam{0}), TypeParam(0.5));
}

}  // namespace
}  // namespace gated::special_test
