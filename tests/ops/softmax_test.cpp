#include "gated/ops/softmax.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/numbers.hpp"

namespace gated::softmax_test {
namespace {

using test::random_matrix;
using test::same_bits;

template <class T>
class SoftmaxOf : public ::testing::Test {
 protected:
  static constexpr auto epsilon = static_cast<long double>(std::numeric_limits<T>::epsilon());
  Workspace<T> workspace;

  Matrix<T> of(Matrix<T> x, bool causal = false) {
    softmax<T>(x, workspace, {.causal = causal});
    return x;
  }

  static void expect_formula(const Matrix<T>& y, const Matrix<T>& x, bool causal) {
    for (Index i = 0; i < x.rows(); ++i) {
      const Index visible = causal ? std::min(i + 1, x.cols()) : x.cols();
      const auto largest = static_cast<long double>(x.row(i).head(visible).maxCoeff());
      long double sum = 0;
      for (Index j = 0; j < visible; ++j) {
        sum += std::exp(static_cast<long double>(x(i, j)) - largest);
      }
      for (Index j = 0; j < x.cols(); ++j) {
        const long double expected = j < visible ? std::exp(static_cast<long double>(x(i, j)) - largest) / sum : 0;
        ASSERT_TRUE(test::close(y(i, j), expected, j < visible ? 4 * epsilon : 0)) << i << ", " << j << " of " << x.cols();
      }
    }
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SoftmaxOf, Scalars, );

TYPED_TEST(SoftmaxOf, EqualsItsFormulaForEveryWidth) {
  for (Index columns = 1; columns <= 40; ++columns) {
    const Matrix<TypeParam> x = random_matrix<TypeParam>(5, columns, 1, 2.0);
    this->expect_formula(this->of(x), x, false);
    this->expect_formula(this->of(x, true), x, true);
  }
}

TYPED_TEST(SoftmaxOf, IsAccurateForManyColumns) {
  const Matrix<TypeParam> x = random_matrix<TypeParam>(2, 50000, 8, 5.0), y = this->of(x);
  for (Index i = 0; i < x.rows(); ++i) {
    const auto largest = static_cast<long double>(x.row(i).maxCoeff());
    long double sum = 0;
    for (Index j = 0; j < x.cols(); ++j) {
      sum += std::exp(static_cast<long double>(x(i, j)) - largest);
    }
    for (Index j = 0; j < x.cols(); ++j) {
      const long double distance = largest - static_cast<long double>(x(i, j)), expected = std::exp(-distance) / sum;
      // Rounding the distance to the maximum before exp() adds a relative error proportional to this distance.
      ASSERT_TRUE(test::close(y(i, j), expected, 2 * this->epsilon * expected * std::max(1.0L, distance))) << i << ", " << j;
    }
  }
}

TYPED_TEST(SoftmaxOf, RowsSumToOne) {
  const Matrix<TypeParam> y = this->of(random_matrix<TypeParam>(9, 77, 2, 5.0));
  for (Index i = 0; i < y.rows(); ++i) {
    EXPECT_TRUE(test::close(y.row(i).template cast<long double>().sum(), 1, 32 * this->epsilon));
  }
  EXPECT_TRUE((y.array() >= 0).all());
}

TYPED_TEST(SoftmaxOf, NeverReadsTheFutureIfCausal) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  Matrix<TypeParam> x = random_matrix<TypeParam>(20, 20, 3);
  const Matrix<TypeParam> expected = this->of(x, true);
  for (Index i = 0; i < 20; ++i) {
    x.row(i).tail(19 - i).setConstant(nan);
  }
  const Matrix<TypeParam> y = this->of(x, true);
  EXPECT_TRUE(same_bits(y, expected));
  for (Index i = 0; i < 20; ++i) {
    EXPECT_TRUE((y.row(i).tail(19 - i).array() == 0).all()) << i;
  }
  EXPECT_EQ(y(0, 0), 1);
}

TYPED_TEST(SoftmaxOf, HandlesHugeScores) {
  for (const double size : {1e4, 1e30}) {
    Matrix<TypeParam> x(3, 5);
    const auto large = static_cast<TypeParam>(size);
    x << large, -large, 0, large, 1, -large, -large, -large, -large, -large, -large, 0, 1, 2, -large;
    const Matrix<TypeParam> y = this->of(x);
    EXPECT_TRUE(y.array().isFinite().all()) << size;
    this->expect_formula(y, x, false);
  }
}

TYPED_TEST(SoftmaxOf, MaskedScoresHaveZeroWeight) {
  Matrix<TypeParam> x(1, 3);
  x << 1, -std::numeric_limits<TypeParam>::infinity(), 1;
  const Matrix<TypeParam> y = this->of(x);
  EXPECT_TRUE(test::close(y(0, 0), 0.5, this->epsilon));
  EXPECT_TRUE(test::close(y(0, 1), 0, 1e-38L));
}

TYPED_TEST(SoftmaxOf, IsOneForASingleColumn) {
  EXPECT_TRUE(same_bits(this->of(random_matrix<TypeParam>(6, 1, 4, 100.0)), Matrix<TypeParam>::Ones(6, 1)));
  EXPECT_TRUE(same_bits(this->of(random_matrix<TypeParam>(6, 1, 4, 100.0), true), Matrix<TypeParam>::Ones(6, 1)));
}

TYPED_TEST(SoftmaxOf, HandlesEmptyInput) {
  EXPECT_EQ(this->of(Matrix<TypeParam>(0, 3)).rows(), 0);
  EXPECT_EQ(this->of(Matrix<TypeParam>(3, 0)).cols(), 0);
}

TYPED_TEST(SoftmaxOf, KeepsNaNInItsRow) {
  Matrix<TypeParam> x = random_matrix<TypeParam>(3, 11, 5);
  x(1, 7) = std::numeric_limits<TypeParam>::quiet_NaN();
  const Matrix<TypeParam> y = this->of(x);
  EXPECT_TRUE(y.row(1).array().isNaN().all());
  EXPECT_TRUE(y.row(0).array().isFinite().all());
  EXPECT_TRUE(y.row(2).array().isFinite().all());
}

TYPED_TEST(SoftmaxOf, WritesOnlyWithinItsBlock) {
  Matrix<TypeParam> x = random_matrix<TypeParam>(8, 20, 6);
  const Matrix<TypeParam> before = x, expected = this->of(x.block(2, 3, 5, 13), true);
  softmax<TypeParam>(x.block(2, 3, 5, 13), this->workspace, {.causal = true});
  EXPECT_TRUE(same_bits(x.block(2, 3, 5, 13), expected));
  x.block(2, 3, 5, 13) = before.block(2, 3, 5, 13);
  EXPECT_TRUE(same_bits(x, before));
}

TYPED_TEST(SoftmaxOf, TreatsEachRowIndependently) {
  const Matrix<TypeParam> x = random_matrix<TypeParam>(70, 33, 7, 3.0), whole = this->of(x);
  for (Index i = 0; i < x.rows(); ++i) {
    EXPECT_TRUE(same_bits(this->of(x.row(i)), whole.row(i))) << i;
  }
  for (const int threads : {2, 3}) {
    Workspace<TypeParam> several(Threads{threads});
    Matrix<TypeParam> y = x;
    softmax<TypeParam>(y, several);
    EXPECT_TRUE(same_bits(y, whole)) << threads << " threads";
  }
}

}  // namespace
}  // namespace gated::softmax_test
