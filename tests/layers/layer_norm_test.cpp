#include "gated/layers/layer_norm.hpp"

#include <gtest/gtest.h>

#include "literal.hpp"

namespace gated {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::wide;

template <class T>
class LayerNormOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LayerNormOf, Scalars, );

TYPED_TEST(LayerNormOf, CentresScalesAndShiftsEachToken) {
  using T = TypeParam;
  LayerNorm<T> layer(2, 0.0);
  layer.weight << 1, 10;
  layer.bias << 0, 100;
  Matrix<T> x(2, 2);
  x << 1, 3,  //
      6, 2;
  Matrix<double> expected(2, 2);
  expected << -1, 110,  //
      1, 90;
  Workspace<T> workspace;
  EXPECT_TRUE(near(layer.forward(x, workspace), expected));
}

TYPED_TEST(LayerNormOf, EqualsTheLiteralFormulaAtAnyWidth) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const Index channels : {1, 2, 7, 16, 33, 100}) {
    LayerNorm<T> layer(channels, 1e-3);
    test::randomize(layer, 1);
    const auto x = random_matrix<T>(35, channels, 2, 3.0);
    EXPECT_TRUE(near(layer.forward(x, workspace), literal::layer_norm(layer, wide(x)))) << channels;
  }
}

TYPED_TEST(LayerNormOf, MayWriteOverItsInput) {
  using T = TypeParam;
  LayerNorm<T> layer(19, 1e-5);
  test::randomize(layer, 1);
  auto x = random_matrix<T>(40, 19, 2);
  Workspace<T> workspace;
  const Matrix<T> expected = layer.forward(x, workspace);
  layer.forward(x, x, workspace);
  EXPECT_TRUE(test::same_bits(x, expected));
}

TYPED_TEST(LayerNormOf, TurnsAConstantTokenIntoItsBias) {
  using T = TypeParam;
  LayerNorm<T> layer(8, 1e-5);
  test::randomize(layer, 1);
  Workspace<T> workspace;
  EXPECT_TRUE(test::same_bits(layer.forward(Matrix<T>::Constant(1, 8, 4), workspace), layer.bias.transpose()));
}

TEST(LayerNorm, StartsAsThePureNormalisation) {
  const LayerNorm<float> layer(5, 1e-6);
  EXPECT_TRUE((layer.weight.array() == 1).all());
  EXPECT_TRUE((layer.bias.array() == 0).all());
  EXPECT_EQ(layer.eps, 1e-6);
  EXPECT_EQ(layer.channels(), 5);
}

TEST(LayerNorm, KeepsABadTokenToItself) {
  const LayerNorm<float> layer(6, 1e-5);
  auto x = random_matrix<float>(3, 6, 1);
  Workspace<float> workspace;
  const Matrix<float> clean = layer.forward(x, workspace);
  x(1, 2) = std::numeric_limits<float>::infinity();
  const Matrix<float> y = layer.forward(x, workspace);
  EXPECT_TRUE(y.row(1).array().isNaN().any());
  EXPECT_TRUE(test::same_bits(y.row(0), clean.row(0)));
  EXPECT_TRUE(test::same_bits(y.row(2), clean.row(2)));
}

TEST(LayerNorm, RefusesOtherShapesBeforeWriting) {
  const LayerNorm<float> layer(4, 1e-5);
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(2, 4, 7);
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 5), y, workspace); }),
            "LayerNorm::forward: x has 5 columns, expected channels = 4 (a matrix is tokens × channels, one row a token).");
  EXPECT_THROW(layer.forward(Matrix<float>::Zero(3, 4), y, workspace), ShapeError);
  EXPECT_TRUE((y.array() == 7).all());
}

TEST(LayerNorm, RefusesToBeBuiltWithoutChannelsOrWithANegativeEps) {
  EXPECT_THROW(LayerNorm<float>(0, 1e-5), ArgumentError);
  EXPECT_THROW(LayerNorm<float>(-1, 1e-5), ArgumentError);
  EXPECT_THROW(LayerNorm<float>(4, -1e-5), ArgumentError);
}

}  // namespace
}  // namespace gated
