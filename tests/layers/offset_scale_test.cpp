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

TEST(OffsetScale, StartsSmallWithoutOffset) {
  OffsetScale<double> layer(2, 500, true);
  Random random(1);
  layer.initialize(random);
  EXPECT_NEAR(layer.weight.norm() / std::sqrt(1000.0), 0.02, 0.002);
  EXPECT_TRUE(layer.bias.isZero(0));
}

}  // namespace
}  // namespace gated
