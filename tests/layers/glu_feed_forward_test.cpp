#include "gated/layers/glu_feed_forward.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::glu_feed_forward_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::wide;

const std::vector<GluFeedForwardConfig>& configs() {
  static const std::vector<GluFeedForwardConfig> all{
      {.channels = 5, .hidden = 9},
      {.channels = 6, .hidden = 11, .activation = Activation::gelu, .bias = false, .out_bias = false},
      {.channels = 7, .hidden = 3, .out = 4, .activation = Activation::relu, .out_bias = false},
      {.channels = 4, .hidden = 8, .activation = Activation::sigmoid, .norm = NormForm::layer_norm},
      {.channels = 1, .hidden = 1, .activation = Activation::identity},
  };
  return all;
}

TEST(GluFeedForward, KeepsItsPromises) {
  for (const GluFeedForwardConfig& config : configs()) {
    test::expect_promises<GluFeedForward>(config);
  }
  test::expect_promises<GluFeedForward>({.channels = 40, .hidden = 90}, {.lengths = {300}, .trains = false});
}

template <class T>
class GluFeedForwardOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GluFeedForwardOf, Scalars, );

TYPED_TEST(GluFeedForwardOf, EqualsItsFormula) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const GluFeedForwardConfig& config : configs()) {
    const auto layer = random_layer<GluFeedForward<T>>(config);
    const auto x = random_matrix<T>(9, config.channels, 2);
    const Matrix<double> gate = literal::activate(config.activation, literal::linear(layer.gate, wide(x)));
    const Matrix<double> product = gate.cwiseProduct(literal::linear(layer.up, wide(x)));
    EXPECT_TRUE(near(layer.forward(x, workspace), literal::linear(layer.proj_out, literal::norm(layer.norm, product))))
        << test::settings_of(config);
  }
}

TEST(GluFeedForward, ActivatesOnlyTheGate) {
  GluFeedForward<double> layer({.channels = 1, .hidden = 1, .activation = Activation::relu});
  layer.gate.weight << -2;
  layer.up.weight << -3;
  layer.proj_out.weight << 1;
  Workspace<double> workspace;
  Matrix<double> x(2, 1);
  x << 1, -1;
  Matrix<double> expected(2, 1);
  expected << 0, 6;
  EXPECT_TRUE(near(layer.forward(x, workspace), expected));
}

TEST(GluFeedForward, StartsAsALinearMlp) {
  Random random(1);
  const GluFeedForward<double> layer({.channels = 6, .hidden = 9, .activation = Activation::identity}, random);
  const auto x = random_matrix<double>(5, 6, 2);
  Workspace<double> workspace;
  EXPECT_TRUE(near(layer.forward(x, workspace), literal::linear(layer.proj_out, literal::linear(layer.up, x)), 1e-4));
  const GluFeedForward<double> unbiased({.channels = 6, .hidden = 9, .bias = false}, random);
  EXPECT_GT(unbiased.gate.weight.cwiseAbs().maxCoeff(), 0.1) << "a gate without bias must not start at 0";
}

TEST(GluFeedForward, RefusesNonPositiveSizes) {
  EXPECT_EQ(message_of<ArgumentError>([] { GluFeedForward<float>({.channels = 4}); }),
            "GluFeedForward: channels = 4 and hidden = 0 must be positive, and out = 0 must not be negative.");
}

}  // namespace
}  // namespace gated::glu_feed_forward_test
