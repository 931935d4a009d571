#include "gated/layers/offset_scale.hpp"

#include <gtest/gtest.h>

#include "literal_attention.hpp"

namespace gated {
namespace {

using test::near;
using test::random_matrix;
using test::wide;

template <class T>
class OffsetScaleOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(OffsetScaleOf, Scalars, );

TYPED_TEST(OffsetScaleOf, ScalesAndShiftsByTheChosenRow) {
  using T = TypeParam;
  for (const bool with_bias : {true, false}) {
    for (const Index width : {1, 7, 16, 33}) {
      OffsetScale<T> layer(4, width, with_bias);
      test::randomize(layer, 1);
      const auto x = random_matrix<T>(6, width, 2);
      for (Index row = 0; row < 4; ++row) {
        Matrix<T> y(6, width);
        layer.forward(row, x, y, Workspace<T>());
        EXPECT_TRUE(near(y, literal::offset_scale(layer, row, wide(x)))) << row << " of width " << width;
      }
    }
  }
}

TYPED_TEST(OffsetScaleOf, ReadsAndWritesPartsOfLargerMatrices) {
  using T = TypeParam;
  OffsetScale<T> layer(2, 5, true);
  test::randomize(layer, 1);
  const auto x = random_matrix<T>(6, 9, 2);
  Matrix<T> y = test::untouched<T>(6, 12);
  layer.forward(1, x.rightCols(5), y.middleCols(3, 5), Workspace<T>());
  EXPECT_TRUE(near(Matrix<T>(y.middleCols(3, 5)), literal::offset_scale(layer, 1, wide<T>(x.rightCols(5)))));
  y.middleCols(3, 5).setConstant(77);
  EXPECT_TRUE(test::is_untouched(y));
}

TEST(OffsetScale, RefusesRowsAndWidthsThatItDoesNotHave) {
  const OffsetScale<float> layer(2, 5, true);
  const Matrix<float> x = Matrix<float>::Ones(3, 5), wide = Matrix<float>::Ones(3, 6);
  Matrix<float> y = test::untouched<float>(3, 5), low = test::untouched<float>(2, 5);
  const Workspace<float> workspace;
  EXPECT_THROW(layer.forward(2, x, y, workspace), ArgumentError);
  EXPECT_THROW(layer.forward(-1, x, y, workspace), ArgumentError);
  EXPECT_THROW(layer.forward(0, wide, y, workspace), ShapeError);
  EXPECT_THROW(layer.forward(0, x, low, workspace), ShapeError);
  EXPECT_THROW(OffsetScale<float>(-1, 5, true), ArgumentError);
  EXPECT_TRUE(test::is_untouched(y) && test::is_untouched(low));
}

TEST(OffsetScale, StartsSmallWithoutOffset) {
  OffsetScale<double> layer(2, 500, true);
  Random random(1);
  layer.initialize(random);
  EXPECT_NEAR(layer.weight.norm() / std::sqrt(1000.0), 0.02, 0.002);
  EXPECT_TRUE(layer.bias.isZero(0));
}

}  // namespace
}  // namespace gated
