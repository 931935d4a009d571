#include "gated/layers/convolutional_gating.hpp"

#include "literal.hpp"
#include "literal_attention.hpp"
#include "literal_branchformer.hpp"
#include "tests/promises.hpp"

namespace gated::convolutional_gating_test {
namespace {

using test::near;
using test::random_matrix;
using test::refuses;
using test::wide;

/// Every valid combination of options, with `kernel` taps.
std::vector<ConvolutionalGatingConfig> all_configs(Index kernel) {
  std::vector<ConvolutionalGatingConfig> all;
  for (const bool causal : {false, true}) {
    for (const bool norm_first : {true, false}) {
      for (const bool linear : {false, true}) {
        for (const Activation activation : {Activation::identity, Activation::silu}) {
          if (causal || norm_first) {
            all.push_back({.channels = 6,
                           .hidden = 20,
                           .kernel = kernel,
                           .causal = causal,
                           .norm_before_padding = norm_first,
                           .linear_after_convolution = linear,
                           .gate_activation = activation});
          }
        }
      }
    }
  }
  return all;
}

TEST(ConvolutionalGating, KeepsItsPromisesWithAllOptions) {
  for (const auto& config : all_configs(5)) {
    test::expect_promises<ConvolutionalGatingMlp>(config, {.causal = config.causal, .rewinds = false});
  }
  test::expect_promises<ConvolutionalGatingUnit>({.hidden = 12, .kernel = 4, .causal = true},
                                                 {.causal = true, .rewinds = false});
  test::expect_promises<ConvolutionalGatingMlp>(
      {.channels = 18, .hidden = 52, .kernel = 31, .causal = true, .norm_before_padding = false},
      {.lengths = {50, 7, 0, 130, 1}, .causal = true, .rewinds = false, .trains = false});
}

TEST(ConvolutionalGating, EqualsItsFormulaWithAllOptions) {
  const auto sequences = Sequences::of_lengths({11, 1, 0, 40, 3});
  const auto x = random_matrix<double>(sequences.total(), 6, 2);
  for (const Index kernel : {1, 5, 31}) {
    for (const auto& config : all_configs(kernel)) {
      SCOPED_TRACE(test::settings_of(config));
      ConvolutionalGatingMlp<double> layer(config);
      test::shake(layer, 1);
      Workspace<double> workspace;
      EXPECT_TRUE(near(layer.forward(x, sequences, workspace), literal::convolutional_gating(layer, x, sequences)));
    }
  }
}

TEST(ConvolutionalGating, InitiallyReturnsTheFirstHalfOfItsInput) {
  Random random(1);
  ConvolutionalGatingUnit<double> unit({.hidden = 12, .linear_after_convolution = true});
  unit.initialize(random);
  const auto x = random_matrix<double>(9, 12, 2);
  EXPECT_LT((unit.forward(x) - x.leftCols(6)).cwiseAbs().maxCoeff(), 1e-4);
}

TEST(ConvolutionalGating, StreamsForeverInAStateOfConstantSize) {
  const ConvolutionalGatingMlp<float> model(
      {.channels = 6, .hidden = 20, .kernel = 5, .causal = true, .norm_before_padding = false});
  auto state = model.start();
  EXPECT_EQ(state.capacity(), State<float>::unlimited);
  EXPECT_EQ(state.bytes(), 4 * 10 * sizeof(float));
}

TEST(ConvolutionalGating, RefusesInvalidConfigurations) {
  EXPECT_TRUE(refuses<ArgumentError>([] { ConvolutionalGatingMlp<float>({.channels = 4, .hidden = 5}); },
                                     "ConvolutionalGatingUnit: hidden = 5, expected a positive even number"));
  EXPECT_TRUE(refuses<ArgumentError>([] { ConvolutionalGatingMlp<float>({.hidden = 4}); },
                                     "ConvolutionalGatingMlp: channels = 0 must be positive."));
  EXPECT_TRUE(refuses<ArgumentError>([] { ConvolutionalGatingMlp<float>({.channels = 4, .hidden = 4, .kernel = 4}); },
                                     "DepthwiseConvolution: kernel = 4, expected an odd number of taps, or causal = true."));
  EXPECT_TRUE(
      refuses<ArgumentError>([] { ConvolutionalGatingMlp<float>({.channels = 4, .hidden = 4, .norm_before_padding = false}); },
                             "norm_before_padding = false needs causal = true"));
  EXPECT_TRUE(
      refuses<ArgumentError>([] { ConvolutionalGatingMlp<float>({.channels = 4, .hidden = 4}).start(); }, "causal = true"));
}

}  // namespace
}  // namespace gated::convolutional_gating_test
