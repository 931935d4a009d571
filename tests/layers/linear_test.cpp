#include "gated/layers/linear.hpp"

#include <gtest/gtest.h>

#include "literal.hpp"

namespace gated {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::wide;

template <class T>
class LinearOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LinearOf, Scalars, );

TYPED_TEST(LinearOf, MultipliesWithItsWeightAndAddsItsBias) {
  using T = TypeParam;
  Linear<T> layer(2, 2);
  layer.weight << 1, 2,  //
      3, 4;
  layer.bias << 10, 20;
  Matrix<T> x(2, 2), expected(2, 2);
  x << 1, 1,  //
      1, 0;
  expected << 13, 27,  //
      11, 23;
  Workspace<T> workspace;
  EXPECT_TRUE(test::same_bits(layer.forward(x, workspace), expected));
}

TYPED_TEST(LinearOf, EqualsTheLiteralSumAtAnySize) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const auto& [rows, in, out] : {std::array<Index, 3>{1, 1, 1}, {1, 7, 33}, {15, 31, 1}, {40, 64, 65}, {3, 200, 16}}) {
    for (const bool with_bias : {false, true}) {
      Linear<T> layer(in, out, with_bias);
      test::randomize(layer, 1);
      const auto x = random_matrix<T>(rows, in, 2);
      EXPECT_TRUE(near(layer.forward(x, workspace), literal::linear(layer, wide(x)))) << rows << ' ' << in << ' ' << out;
    }
  }
}

TYPED_TEST(LinearOf, AppliesTheStagesBehindItsBias) {
  using T = TypeParam;
  Linear<T> layer(5, 9);
  test::randomize(layer, 1);
  const auto x = random_matrix<T>(6, 5, 2), added = random_matrix<T>(6, 9, 3);
  Workspace<T> workspace;
  Matrix<T> y(6, 9);
  layer.forward(x, y, workspace, Activate{Activation::relu}, Add<T>(added));
  EXPECT_TRUE(near(y, literal::activate(Activation::relu, literal::linear(layer, wide(x))) + wide(added)));
}

TYPED_TEST(LinearOf, TakesRowsAndColumnsOfALargerMatrix) {
  using T = TypeParam;
  Linear<T> layer(5, 3);
  test::randomize(layer, 1);
  const auto whole = random_matrix<T>(6, 12, 2);
  Workspace<T> workspace;
  Matrix<T> y = Matrix<T>::Constant(6, 8, 7);
  layer.forward(whole.block(1, 4, 4, 5), y.block(2, 1, 4, 3), workspace);
  EXPECT_TRUE(test::same_bits(y.block(2, 1, 4, 3), layer.forward(whole.block(1, 4, 4, 5), workspace)));
  y.block(2, 1, 4, 3).setConstant(7);
  EXPECT_TRUE((y.array() == 7).all()) << "what lies around the output is left alone";
}

TYPED_TEST(LinearOf, GivesNoRowsForNoRows) {
  using T = TypeParam;
  Workspace<T> workspace;
  const Matrix<T> y = Linear<T>(4, 3).forward(Matrix<T>(0, 4), workspace);
  EXPECT_EQ(y.rows(), 0);
  EXPECT_EQ(y.cols(), 3);
}

TEST(Linear, HasAnEmptyBiasIfAskedForNone) {
  const Linear<float> layer(4, 3, false);
  EXPECT_EQ(layer.bias.size(), 0);
  EXPECT_EQ(parameter_count(layer), 12);
  EXPECT_EQ(parameter_count(Linear<float>(4, 3)), 15);
}

TEST(Linear, StartsXavierUniform) {
  Linear<double> layer(300, 100);
  Random random(1);
  layer.initialize(random);
  const double bound = std::sqrt(6.0 / 400);
  EXPECT_LE(layer.weight.cwiseAbs().maxCoeff(), bound);
  EXPECT_GT(layer.weight.maxCoeff(), 0.99 * bound);
  EXPECT_LT(layer.weight.minCoeff(), -0.99 * bound);
  EXPECT_LT(std::fabs(layer.weight.mean()), 0.02 * bound);
  EXPECT_LT(layer.bias.cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_GT(layer.bias.cwiseAbs().maxCoeff(), 0.0);
}

TEST(Linear, RefusesOtherShapesBeforeWriting) {
  const Linear<float> layer(4, 3);
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(2, 3, 7), wide_output = Matrix<float>::Constant(2, 4, 7);
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 5), y, workspace); }),
            "Linear::forward: x has 5 columns, expected in = 4 (a matrix is tokens × channels, one row a token).");
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 4), wide_output, workspace); }),
            "Linear::forward: y is 2 × 4, expected 2 × 3. Outputs are written in place and never resized.");
  EXPECT_THROW(layer.forward(Matrix<float>::Zero(3, 4), y, workspace), ShapeError);
  EXPECT_TRUE((y.array() == 7).all());
  EXPECT_TRUE((wide_output.array() == 7).all());
}

TEST(Linear, RefusesToBeBuiltWithoutChannels) {
  EXPECT_EQ(message_of<ArgumentError>([] { Linear<float>(0, 3); }), "Linear: in = 0 and out = 3 must be positive.");
  EXPECT_THROW(Linear<float>(3, -1), ArgumentError);
}

}  // namespace
}  // namespace gated
