#include "gated/layers/feed_forward.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::feed_forward_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::wide;

const std::vector<FeedForwardConfig>& configs() {
  static const std::vector<FeedForwardConfig> all{
      {.channels = 5},
      {.channels = 6, .hidden = 11, .activation = Activation::silu},
      {.channels = 7, .hidden = 3, .out = 4, .activation = Activation::relu, .bias = false},
      {.channels = 1, .hidden = 1, .activation = Activation::identity},
  };
  return all;
}

TEST(FeedForward, KeepsItsPromises) {
  for (const FeedForwardConfig& config : configs()) {
    test::expect_promises<FeedForward>(config);
  }
  test::expect_promises<FeedForward>({.channels = 40, .hidden = 90}, {.lengths = {300}, .trains = false});
}

template <class T>
class FeedForwardOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FeedForwardOf, Scalars, );

TYPED_TEST(FeedForwardOf, EqualsItsFormula) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const FeedForwardConfig& config : configs()) {
    const auto layer = random_layer<FeedForward<T>>(config);
    const auto x = random_matrix<T>(9, config.channels, 2);
    const Matrix<double> hidden = literal::activate(config.activation, literal::linear(layer.proj_in, wide(x)));
    EXPECT_TRUE(near(layer.forward(x, workspace), literal::linear(layer.proj_out, hidden))) << test::settings_of(config);
  }
}

TEST(FeedForward, DefaultsToFourTimesTheChannels) {
  const FeedForward<float> layer({.channels = 5});
  EXPECT_EQ(layer.proj_in.out(), 20);
  EXPECT_EQ(layer.proj_out.in(), 20);
  EXPECT_EQ(layer.out(), 5);
}

TEST(FeedForward, RefusesNonPositiveSizes) {
  EXPECT_EQ(message_of<ArgumentError>([] { FeedForward<float>({.channels = 0}); }),
            "FeedForward: channels = 0 must be positive, and hidden = 0 and out = 0 must not be negative.");
  EXPECT_EQ(message_of<ArgumentError>([] { FeedForward<float>({.channels = 4, .hidden = -1}); }),
            "FeedForward: channels = 4 must be positive, and hidden = -1 and out = 0 must not be negative.");
}

}  // namespace
}  // namespace gated::feed_forward_test
