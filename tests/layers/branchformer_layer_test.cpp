#include "gated/layers/branchformer_layer.hpp"

#include "literal_attention.hpp"
#include "literal_branchformer.hpp"
#include "tests/promises.hpp"

namespace gated::branchformer_layer_test {
namespace {

using test::near;
using test::random_matrix;
using test::refuses;

constexpr BranchformerLayerConfig small{
    .channels = 6, .heads = 3, .hidden = 10, .gate_hidden = 8, .gate_kernel = 5, .merge_kernel = 3, .norm_eps = 1e-5};

/// ESPnet's and WeNet's layers, layers that lack optional parts, and every mix of causal and non-causal parts.
std::vector<BranchformerLayerConfig> configs() {
  std::vector<BranchformerLayerConfig> all(9, small);
  all[1].position = ScorePosition::none;
  all[2].macaron = false;
  all[3].macaron = all[3].feed_forward = false;
  all[4].feed_forward = false;
  all[4].linear_after_convolution = true;
  all[4].gate_activation = Activation::silu;
  all[5].position = ScorePosition::key;
  for (const std::size_t i : {6U, 7U}) {
    all[i].causal = true;
    all[i].norm_before_padding = false;
  }
  all[6].causal_attention = true;
  all[6].position = ScorePosition::key;
  all[8].causal_attention = true;
  return all;
}

TEST(BranchformerLayer, EqualsItsFormulaWithAllOptions) {
  const auto sequences = Sequences::of_lengths({11, 1, 0, 7});
  const auto x = random_matrix<double>(sequences.total(), 6, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (const auto& config : configs()) {
    SCOPED_TRACE(test::settings_of(config));
    BranchformerLayer<double> layer(config);
    test::shake(layer, 1);
    Workspace<double> workspace;
    EXPECT_TRUE(near(layer.forward(x, sequences, workspace), literal::branchformer_layer(layer, x, sequences)));
    EXPECT_TRUE(near(layer.forward(x, sequences, workspace, mask), literal::branchformer_layer(layer, x, sequences, mask)))
        << "masked";
  }
}

TEST(BranchformerLayer, KeepsItsPromisesWithAllOptions) {
  for (const auto& config : configs()) {
    test::expect_promises<BranchformerLayer>(
        config, {.causal = config.causal && config.causal_attention, .rewinds = false, .mask_hides = false});
  }
}

TEST(BranchformerLayer, HasTheParametersOfThePublishedLayers) {
  const auto count = [](const BranchformerLayerConfig& config) {
    const detail::HollowWeights hollow;
    return parameter_count(BranchformerLayer<float>(config));
  };
  EXPECT_EQ(count({.channels = 256, .hidden = 1024, .gate_hidden = 1024}), 1'942'528);
  EXPECT_EQ(count({.channels = 512, .hidden = 1024, .gate_hidden = 3072}), 6'391'808);
  EXPECT_EQ(count({.channels = 1024, .heads = 16, .position = ScorePosition::none, .gate_hidden = 4096}), 29'526'016);
}

TEST(BranchformerLayer, AMaskHidesTokensFromTheAttentionOnly) {
  BranchformerLayerConfig config = small;
  config.gate_kernel = config.merge_kernel = 1;
  BranchformerLayer<double> layer(config);
  test::shake(layer, 1);
  const auto x = random_matrix<double>(6, 6, 2);
  const std::vector<std::uint8_t> mask{1, 1, 1, 1, 0, 0};
  Workspace<double> workspace;
  const Matrix<double> masked = layer.forward(x, Sequences::single(6), workspace, mask);
  const Matrix<double> alone = layer.forward(x.topRows(4));
  EXPECT_TRUE(near<double>(masked.topRows(4), alone)) << "convolutions of one tap read no padding";
  EXPECT_TRUE(masked.allFinite());
  EXPECT_FALSE(near<double>(masked.bottomRows(2), layer.forward(x).bottomRows(2))) << "hidden tokens attend to visible ones";
}

TEST(BranchformerLayer, RefusesInvalidConfigurations) {
  EXPECT_TRUE(refuses<ArgumentError>([] { BranchformerLayer<float>(BranchformerLayerConfig{}); },
                                     "BranchformerLayer: channels = 0 must be positive"));
  EXPECT_TRUE(refuses<ArgumentError>([] { BranchformerLayer<float>({.channels = 6, .heads = 4}); }, "heads = 4"));
  EXPECT_TRUE(refuses<ArgumentError>([] { BranchformerLayer<float>({.channels = 8, .merge_kernel = 4}); }, "kernel = 4"));
  EXPECT_TRUE(refuses<ArgumentError>([] { BranchformerLayer<float>({.channels = 8, .causal = true}).start(9); }, "causal"));
  EXPECT_TRUE(refuses<ArgumentError>(
      [] { BranchformerLayer<float>({.channels = 8, .causal = true, .causal_attention = true}).start(); }, "start(capacity)"));
  EXPECT_TRUE(refuses<ArgumentError>(
      [] { Branch<FeedForward<float>>({.channels = 4, .layer_scale = 0.1, .factor = 0.5}, FeedForwardConfig{.channels = 4}); },
      "Branch: factor = 0.5 and layer_scale = 0.1 are both given"));
}

}  // namespace
}  // namespace gated::branchformer_layer_test
