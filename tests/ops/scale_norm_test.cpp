#include "gated/ops/scale_norm.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/numbers.hpp"

namespace gated {
namespace {

using test::close;
using test::random_matrix;
using test::same_bits;

template <class T>
Matrix<T> normalised(const Matrix<T>& x, T gain, double eps, ScaleNormForm form, int threads = 1) {
  Matrix<T> y(x.rows(), x.cols());
  scale_norm<T>(x, gain, eps, form, y, Workspace<T>(Threads{threads}));
  return y;
}

template <class T>
class ScaleNormOf : public ::testing::Test {
 protected:
  static void expect_formula(const Matrix<T>& x, T gain, double eps, ScaleNormForm form) {
    const Matrix<T> y = normalised(x, gain, eps, form);
    const long double epsilon = static_cast<long double>(static_cast<T>(eps));
    for (Index i = 0; i < x.rows(); ++i) {
      long double square = 0;
      for (Index j = 0; j < x.cols(); ++j) {
        square += static_cast<long double>(x(i, j)) * static_cast<long double>(x(i, j)) / static_cast<long double>(x.cols());
      }
      const long double size =
          form == ScaleNormForm::clamped ? std::max(std::sqrt(square), epsilon) : std::sqrt(square + epsilon);
      for (Index j = 0; j < x.cols(); ++j) {
        const long double expected = static_cast<long double>(x(i, j)) / size * static_cast<long double>(gain);
        const long double tolerance = 64 * static_cast<long double>(std::numeric_limits<T>::epsilon());
        ASSERT_TRUE(close(y(i, j), expected, tolerance * std::fabs(expected))) << i << ", " << j << " of " << x.cols();
      }
    }
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ScaleNormOf, Scalars, );

constexpr ScaleNormForm forms[]{ScaleNormForm::clamped, ScaleNormForm::rsqrt};

TYPED_TEST(ScaleNormOf, EqualsItsFormulaForEveryWidth) {
  for (const ScaleNormForm form : forms) {
    for (Index columns = 1; columns <= 40; ++columns) {
      this->expect_formula(random_matrix<TypeParam>(4, columns, 1), TypeParam(1.3), 1e-5, form);
    }
  }
}

TYPED_TEST(ScaleNormOf, HoldsForNumbersUpToTenToTheEighteenAndDownToTiny) {
  for (const ScaleNormForm form : forms) {
    for (const double size : {1e18, 1e15, 1e9, 1e-2, 1e-5, 1e-6, 1e-10, 1e-18, 1e-30}) {
      this->expect_formula(random_matrix<TypeParam>(4, 19, 2, size / 4), TypeParam(0.7), 1e-5, form);
      Matrix<TypeParam> x = Matrix<TypeParam>::Constant(2, 1000, static_cast<TypeParam>(size));
      x.row(1) *= TypeParam{-1};
      this->expect_formula(x, TypeParam(1), 1e-5, form);
    }
  }
}

TYPED_TEST(ScaleNormOf, MixesHugeAndSmallNumbersInARow) {
  Matrix<TypeParam> x = random_matrix<TypeParam>(2, 9, 3);
  x(0, 4) = TypeParam(1e18);
  x(1, 8) = TypeParam(-1e18);
  for (const ScaleNormForm form : forms) {
    this->expect_formula(x, TypeParam(1), 1e-5, form);
  }
}

TYPED_TEST(ScaleNormOf, TheFormsDifferWhereNumbersAreSmall) {
  const Matrix<TypeParam> x = Matrix<TypeParam>::Constant(1, 4, TypeParam(1e-3));
  EXPECT_TRUE(close(normalised(x, TypeParam(1), 1e-5, ScaleNormForm::clamped)(0, 0), 1, 1e-6L));
  EXPECT_TRUE(close(normalised(x, TypeParam(1), 1e-5, ScaleNormForm::rsqrt)(0, 0), 1e-3L / std::sqrt(1.1e-5L), 1e-6L));
}

TYPED_TEST(ScaleNormOf, LeavesZeroRowsZero) {
  for (const ScaleNormForm form : forms) {
    for (const double eps : {1e-5, 1e-12}) {
      Matrix<TypeParam> x = random_matrix<TypeParam>(3, 7, 4);
      x.row(1).setZero();
      const Matrix<TypeParam> y = normalised(x, TypeParam(1.3), eps, form);
      EXPECT_TRUE(same_bits(Matrix<TypeParam>(y.row(1)), Matrix<TypeParam>(Matrix<TypeParam>::Zero(1, 7))));
      EXPECT_TRUE(y.allFinite());
    }
  }
}

TYPED_TEST(ScaleNormOf, KeepsNaNInItsRow) {
  for (const ScaleNormForm form : forms) {
    Matrix<TypeParam> x = random_matrix<TypeParam>(3, 11, 5);
    x(1, 7) = std::numeric_limits<TypeParam>::quiet_NaN();
    const Matrix<TypeParam> y = normalised(x, TypeParam(1), 1e-5, form);
    EXPECT_TRUE(std::isnan(y(1, 7)));
    EXPECT_TRUE(y.row(0).allFinite());
    EXPECT_TRUE(y.row(2).allFinite());
  }
}

TYPED_TEST(ScaleNormOf, GivesARowTheSameBitsWhereverItStands) {
  const auto x = random_matrix<TypeParam>(70, 33, 6);
  for (const ScaleNormForm form : forms) {
    const auto whole = normalised(x, TypeParam(1.1), 1e-5, form);
    for (Index i = 0; i < 70; i += 23) {
      EXPECT_TRUE(same_bits(normalised<TypeParam>(x.row(i), TypeParam(1.1), 1e-5, form), Matrix<TypeParam>(whole.row(i))));
    }
    EXPECT_TRUE(same_bits(normalised(x, TypeParam(1.1), 1e-5, form, 3), whole));
    Matrix<TypeParam> in_place = x;
    scale_norm<TypeParam>(in_place, TypeParam(1.1), 1e-5, form, in_place, Workspace<TypeParam>());
    EXPECT_TRUE(same_bits(in_place, whole));
  }
}

}  // namespace
}  // namespace gated
