#include "gated/ops/norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/numbers.hpp"

namespace gated {
namespace {

using test::random_matrix;
using test::random_vector;
using test::same_bits;

template <class T>
class LayerNormOf : public ::testing::Test {
 protected:
  Workspace<T> workspace;
  Vector<T> none;

  Matrix<T> normalised(const ConstView<T>& x, const Vector<T>& scale, const Vector<T>& shift, double eps = 1e-5) {
    Matrix<T> y = Matrix<T>::Constant(x.rows(), x.cols(), std::numeric_limits<T>::quiet_NaN());
    layer_norm<T>(x, scale, shift, eps, y, workspace);
    return y;
  }

  /// The formula, element by element, in long double. `bound` counts machine epsilons of 1 + |expected|.
  static void expect_formula(const Matrix<T>& y, const Matrix<T>& x, const Vector<T>& scale, const Vector<T>& shift, double eps,
                             double bound = 16) {
    const auto count = static_cast<long double>(x.cols());
    for (Index i = 0; i < x.rows(); ++i) {
      long double mean = 0, variance = 0;
      for (Index j = 0; j < x.cols(); ++j) {
        mean += static_cast<long double>(x(i, j)) / count;
      }
      for (Index j = 0; j < x.cols(); ++j) {
        const long double centred = static_cast<long double>(x(i, j)) - mean;
        variance += centred * centred / count;
      }
      for (Index j = 0; j < x.cols(); ++j) {
        long double expected = (static_cast<long double>(x(i, j)) - mean) / std::sqrt(variance + static_cast<long double>(eps));
        expected = scale.size() == 0 ? expected : expected * static_cast<long double>(scale(j));
        expected = shift.size() == 0 ? expected : expected + static_cast<long double>(shift(j));
        const long double tolerance =
            bound * static_cast<long double>(std::numeric_limits<T>::epsilon()) * (1 + std::fabs(expected));
        ASSERT_TRUE(test::close(y(i, j), expected, tolerance)) << i << ", " << j << " of " << x.cols() << " channels";
      }
    }
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LayerNormOf, Scalars, );

TYPED_TEST(LayerNormOf, EqualsItsFormulaForEveryWidth) {
  using T = TypeParam;
  for (Index channels = 1; channels <= 40; ++channels) {
    const Matrix<T> x = random_matrix<T>(3, channels, 1);
    const auto scale = random_vector<T>(channels, 2), shift = random_vector<T>(channels, 3);
    this->expect_formula(this->normalised(x, scale, shift), x, scale, shift, 1e-5);
  }
}

TYPED_TEST(LayerNormOf, LeavesOutAScaleOrShiftOfSizeZero) {
  using T = TypeParam;
  const Matrix<T> x = random_matrix<T>(3, 21, 4);
  const auto scale = random_vector<T>(21, 5), shift = random_vector<T>(21, 6);
  this->expect_formula(this->normalised(x, this->none, this->none), x, this->none, this->none, 1e-5);
  this->expect_formula(this->normalised(x, scale, this->none), x, scale, this->none, 1e-5);
  this->expect_formula(this->normalised(x, this->none, shift), x, this->none, shift, 1e-5);
}

TYPED_TEST(LayerNormOf, HasEpsInsideTheRoot) {
  using T = TypeParam;
  for (const double eps : {1e-5, 1e-6, 1e-12}) {
    for (const double deviation : {1e-2, 1e-4, 1e-8}) {
      const Matrix<T> x = random_matrix<T>(3, 13, 7, deviation);
      const Matrix<T> y = this->normalised(x, this->none, this->none, eps);
      this->expect_formula(y, x, this->none, this->none, eps);
      const auto largest = static_cast<double>(y.cwiseAbs().maxCoeff());
      EXPECT_LE(largest, 4 * deviation / std::sqrt(eps)) << "an eps outside the root, or a floor, divides by less";
    }
  }
}

TYPED_TEST(LayerNormOf, OfEqualChannelsIsTheShift) {
  using T = TypeParam;
  const Matrix<T> x = Matrix<T>::Constant(2, 8, 3);
  const auto scale = random_vector<T>(8, 8), shift = random_vector<T>(8, 9);
  const Matrix<T> y = this->normalised(x, scale, shift);
  for (Index i = 0; i < 2; ++i) {
    EXPECT_TRUE(same_bits(y.row(i), shift.transpose()));
  }
}

TYPED_TEST(LayerNormOf, KeepsItsPrecisionFarFromZero) {
  using T = TypeParam;
  const Matrix<T> x = (random_matrix<T>(4, 64, 10).array() + T{1000}).matrix();
  this->expect_formula(this->normalised(x, this->none, this->none), x, this->none, this->none, 1e-5, 4000);
}

TYPED_TEST(LayerNormOf, MayWriteOverItsInput) {
  using T = TypeParam;
  Matrix<T> x = random_matrix<T>(5, 19, 11);
  const auto scale = random_vector<T>(19, 12), shift = random_vector<T>(19, 13);
  const Matrix<T> expected = this->normalised(x, scale, shift);
  layer_norm<T>(x, scale, shift, 1e-5, x, this->workspace);
  EXPECT_TRUE(same_bits(x, expected));
}

TYPED_TEST(LayerNormOf, ReadsAndWritesBlocksOfLargerMatrices) {
  using T = TypeParam;
  const Matrix<T> larger = random_matrix<T>(7, 30, 14), x = larger.block(1, 5, 4, 11);
  Matrix<T> y = Matrix<T>::Constant(6, 15, -7);
  layer_norm<T>(larger.block(1, 5, 4, 11), this->none, this->none, 1e-5, y.block(1, 2, 4, 11), this->workspace);
  EXPECT_TRUE(same_bits(y.block(1, 2, 4, 11), this->normalised(x, this->none, this->none)));
  y.block(1, 2, 4, 11).setConstant(-7);
  EXPECT_TRUE((y.array() == T{-7}).all()) << "something around the destination was written";
}

TYPED_TEST(LayerNormOf, GivesARowTheSameBitsWhereverItStands) {
  using T = TypeParam;
  const Matrix<T> x = random_matrix<T>(2 * rows_per_task + 5, 27, 15);
  const auto scale = random_vector<T>(27, 16), shift = random_vector<T>(27, 17);
  const Matrix<T> whole = this->normalised(x, scale, shift);
  for (Index i = 0; i < x.rows(); ++i) {
    const Matrix<T> row = x.row(i);
    EXPECT_TRUE(same_bits(this->normalised(row, scale, shift), whole.row(i))) << i;
  }
  for (const int threads : {2, 3}) {
    Workspace<T> several(Threads{threads});
    Matrix<T> y(x.rows(), x.cols());
    layer_norm<T>(x, scale, shift, 1e-5, y, several);
    EXPECT_TRUE(same_bits(y, whole)) << threads << " threads";
  }
}

TYPED_TEST(LayerNormOf, OfNothingIsNothing) {
  EXPECT_EQ(this->normalised(Matrix<TypeParam>(0, 4), this->none, this->none).rows(), 0);
  EXPECT_EQ(this->normalised(Matrix<TypeParam>(4, 0), this->none, this->none).cols(), 0);
}

TYPED_TEST(LayerNormOf, KeepsNaNInItsRow) {
  Matrix<TypeParam> x = random_matrix<TypeParam>(3, 9, 18);
  x(1, 4) = std::numeric_limits<TypeParam>::quiet_NaN();
  const Matrix<TypeParam> y = this->normalised(x, this->none, this->none);
  EXPECT_TRUE(y.row(1).array().isNaN().all());
  EXPECT_TRUE(y.row(0).array().isFinite().all());
  EXPECT_TRUE(y.row(2).array().isFinite().all());
}

TEST(ForEachRow, VisitsEachRowOnce) {
  const Workspace<float> workspace(Threads{3});
  for (const Index rows : {Index{0}, Index{1}, rows_per_task - 1, rows_per_task, rows_per_task + 1, 5 * rows_per_task + 3}) {
    std::vector<int> visits(static_cast<std::size_t>(rows), 0);
    for_each_row(rows, workspace, [&](Index row) { ++visits[static_cast<std::size_t>(row)]; });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1)) << rows;
  }
}

}  // namespace
}  // namespace gated
