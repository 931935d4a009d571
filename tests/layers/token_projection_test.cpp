#include "gated/layers/token_projection.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::token_projection_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::wide;

std::vector<TokenProjectionConfig> configs() {
  std::vector<TokenProjectionConfig> all;
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz}) {
    for (const bool causal : {false, true}) {
      all.push_back({.channels = 6, .length = 9, .heads = causal ? 3 : 1, .causal = causal, .form = form});
    }
  }
  return all;
}

TEST(TokenProjection, KeepsItsPromises) {
  for (const TokenProjectionConfig& config : configs()) {
    const std::vector<Index> lengths = config.causal ? std::vector<Index>{7, 0, 9, 1} : std::vector<Index>{9, 9};
    test::expect_promises<TokenProjection>(config, {.lengths = lengths, .causal = config.causal});
  }
  test::expect_promises<TokenProjection>({.channels = 40, .length = 160}, {.lengths = {160, 160}, .trains = false});
}

TEST(TokenProjection, EqualsItsFormula) {
  Workspace<double> workspace;
  for (const TokenProjectionConfig& config : configs()) {
    const auto layer = random_layer<TokenProjection<double>>(config);
    const auto sequences = Sequences::uniform(2, 9);
    const auto x = random_matrix<double>(18, 6, 2);
    EXPECT_TRUE(near(layer.forward(x, sequences, workspace), literal::spatial(layer.proj, x, sequences)));
  }
}

TEST(TokenProjection, InitializesSmallWeightsAndZeroBias) {
  Random random(1);
  const TokenProjection<float> layer({.channels = 4, .length = 12}, random);
  EXPECT_LE(layer.proj.weight.cwiseAbs().maxCoeff(), 0.5f);  // √(3/12)
  EXPECT_GT(layer.proj.weight.cwiseAbs().maxCoeff(), 0.4f);
  EXPECT_EQ(layer.proj.bias.cwiseAbs().maxCoeff(), 0);
}

TEST(TokenProjection, RefusesOtherLengthsAndSuggestsARemedy) {
  const TokenProjection<float> layer({.channels = 4, .length = 12});
  Workspace<float> workspace;
  const Matrix<float> x = Matrix<float>::Ones(11, 4);
  const std::string said = message_of<ShapeError>([&] { layer.forward(x, Sequences::single(11), workspace); });
  EXPECT_TRUE(said.starts_with("TokenProjection::forward: sequence 0 of 1 has 11 tokens, expected 12. ")) << said;
  EXPECT_NE(said.find("length_policy = slice"), std::string::npos) << said;
  EXPECT_EQ(message_of<ArgumentError>([] { TokenProjection<float>({.channels = 5, .length = 3, .heads = 2}); }),
            "TokenProjection: heads = 2 does not divide channels = 5.");
}

}  // namespace
}  // namespace gated::token_projection_test
