#include "gated/layers/gmlp_block.hpp"

#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::gmlp_block_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::same_bits;
using test::wide;

constexpr Index length = 11, channels = 10;

/// Variants of a plain configuration: one changes many options, the others change at most three each.
std::vector<GmlpConfig> all_options() {
  const GmlpConfig plain{.length = length, .channels = channels, .hidden = 24};
  std::vector<GmlpConfig> configs(14, plain);
  configs[1].norm_position = NormPosition::post;
  configs[2].token_shift = 1;
  configs[3].token_shift = 2, configs[3].causal = true;
  configs[4].attention_width = 6;
  configs[5].attention_width = 6, configs[5].causal = true;
  configs[5].hidden = 2 * channels;  // the attention's result has the shape of its input
  configs[6].gate = GateForm::multiplicative, configs[6].gate_activation = Activation::tanh;
  configs[7].spatial = SpatialForm::toeplitz, configs[7].heads = 3;
  configs[8].activation = Activation::silu, configs[8].norm_eps = 1e-2, configs[8].gate_norm_eps = 1e-1;
  configs[9] = {.length = length,
                .channels = channels,
                .hidden = 24,
                .gate = GateForm::additive,
                .spatial = SpatialForm::scaled_toeplitz,
                .causal = true,
                .heads = 4,
                .attention_width = 5,
                .token_shift = 1,
                .norm_position = NormPosition::post,
                .activation = Activation::relu,
                .gate_activation = Activation::sigmoid};
  configs[10].gate = GateForm::identity, configs[10].token_shift = 1, configs[10].causal = true;
  configs[11].norm_position = NormPosition::post, configs[11].hidden = channels;  // hidden width = channels
  configs[11].activation = Activation::identity;
  configs[12].norm_position = NormPosition::res_post;
  configs[13].norm_position = NormPosition::res_post, configs[13].causal = true, configs[13].token_shift = 1;
  return configs;
}

template <class T>
GmlpBlock<T> random_block(const GmlpConfig& config) {
  GmlpBlock<T> block(config);
  test::randomize(block, 1);
  return block;
}

TEST(GmlpBlock, KeepsItsPromises) {
  for (GmlpConfig config : all_options()) {
    test::expect_promises<GmlpBlock>(config, {.lengths = {length, length}, .causal = config.causal});
    if (config.causal) {
      test::expect_promises<GmlpBlock>(config, {.lengths = {7, 0, length, 1}, .causal = true});
    }
    config.length_policy = LengthPolicy::slice;
    config.spatial = SpatialForm::toeplitz;
    test::expect_promises<GmlpBlock>(config, {.lengths = {7, 0, length, 1}, .causal = config.causal, .trains = false});
  }
}

TEST(GmlpBlock, KeepsItsPromisesWithThreadedProducts) {
  const GmlpConfig config{.length = 300, .channels = 32, .hidden = 64, .causal = true, .attention_width = 16, .token_shift = 2};
  test::expect_promises<GmlpBlock>(config, {.lengths = {300, 3, 170}, .causal = true, .trains = false});
}

template <class T>
class GmlpBlockOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GmlpBlockOf, Scalars, );

TYPED_TEST(GmlpBlockOf, EqualsItsFormulaWithEveryOption) {
  using T = TypeParam;
  const auto sequences = Sequences::uniform(2, length);
  const auto x = random_matrix<T>(2 * length, channels, 2);
  Workspace<T> workspace;
  for (const GmlpConfig& config : all_options()) {
    SCOPED_TRACE(test::settings_of(config));
    const GmlpBlock<T> block = random_block<T>(config);
    EXPECT_TRUE(near(block.forward(x, sequences, workspace), literal::block(block, wide(x), sequences)));
  }
}

TYPED_TEST(GmlpBlockOf, StartsAsAPlainFeedForward) {
  using T = TypeParam;
  GmlpBlock<T> block({.length = length, .channels = channels, .hidden = 24});
  Random random(1);
  block.initialize(random);
  const auto x = random_matrix<T>(length, channels, 2);
  Workspace<T> workspace;
  const Matrix<T> y = block.forward(x, Sequences::single(length), workspace);
  const Matrix<double> z =
      literal::activate(Activation::gelu, literal::linear(block.proj_in, literal::layer_norm(block.norm, wide(x))));
  EXPECT_TRUE(near(y, wide(x) + literal::linear(block.proj_out, z.leftCols(12)), 2e-5));
}

TEST(GmlpBlock, CountsTheParametersOfItsLayers) {
  const Index n = 196, c = 256, f = 1536;
  const Index plain = 2 * c + (c * f + f) + 2 * (f / 2) + (n * n + n) + (f / 2 * c + c);
  EXPECT_EQ(parameter_count(GmlpBlock<float>({.length = n, .channels = c, .hidden = f})), plain);
  EXPECT_EQ(parameter_count(GmlpBlock<float>({.length = n, .channels = c, .hidden = f, .attention_width = 64})),
            plain + c * 3 * 64 + 64 * (f / 2) + f / 2);
}

TEST(GmlpBlock, RefusesLongerSequencesBeforeWriting) {
  for (const GmlpConfig& config : all_options()) {
    if (config.gate == GateForm::identity) {
      continue;  // accepts any length
    }
    const auto block = random_block<float>(config);
    Workspace<float> workspace;
    Matrix<float> y = Matrix<float>::Constant(length + 1, channels, 7);
    const std::string message = message_of<ShapeError>(
        [&] { block.forward(Matrix<float>::Zero(length + 1, channels), Sequences::single(length + 1), y, workspace); });
    EXPECT_TRUE(message.starts_with("GmlpBlock::forward: sequence 0 of 1 has 12 tokens, expected 11")) << message;
    EXPECT_TRUE((y.array() == 7).all());
  }
}

TEST(GmlpBlock, RefusesToStreamIfNotCausal) {
  EXPECT_NE(message_of<ArgumentError>([] {
              GmlpBlock<float>({.length = 4, .channels = 2, .hidden = 4}).start();
            }).find("Build it with causal = true"),
            std::string::npos);
  const auto block = random_block<float>(all_options()[3]);
  EXPECT_THROW(block.start(length + 1), ShapeError);
  EXPECT_EQ(block.start().capacity(), length);
}

TEST(GmlpBlock, RefusesStatesOfOtherConfigurations) {
  const auto block = random_block<float>(all_options()[3]);
  std::vector<GmlpConfig> others(4, block.config);
  others[0].attention_width = 6;  // the state also stores the attention's keys and values
  others[1].token_shift = 0;      // the state stores no tokens for the shift
  others[2].hidden = 26;          // the state's rows are wider
  others[3].length = length - 1;
  Workspace<float> workspace;
  const Matrix<float> x = random_matrix<float>(2, channels, 2);
  for (const GmlpConfig& config : others) {
    auto state = random_block<float>(config).start(length - 1);
    Matrix<float> y = Matrix<float>::Constant(2, channels, 7);
    if (config.length != length) {  // compatible: the states differ only in capacity
      EXPECT_NO_THROW(block.extend(x, state, y, workspace));
      continue;
    }
    EXPECT_EQ(message_of<ArgumentError>([&] { block.extend(x, state, y, workspace); }),
              "GmlpBlock::extend: the state was made for another configuration. Make one with this model's start().");
    EXPECT_TRUE((y.array() == 7).all());
    EXPECT_EQ(state.position(), 0);
  }
}

TEST(GmlpBlock, RefusesInvalidConfigurations) {
  const auto refused = [](GmlpConfig config) { EXPECT_THROW(GmlpBlock<float>{config}, ArgumentError); };
  const GmlpConfig good = all_options()[0];
  EXPECT_NO_THROW(GmlpBlock<float>{good});
  GmlpConfig bad = good;
  bad.attention_width = -1;
  refused(bad);
  bad = good, bad.token_shift = -1;
  refused(bad);
  bad = good, bad.hidden = 23;
  refused(bad);
  bad = good, bad.heads = 5;
  refused(bad);
  bad = good, bad.channels = -10;
  refused(bad);
  bad = good, bad.length = 0;
  refused(bad);
  bad = good, bad.norm_eps = -1;
  refused(bad);
  bad = good, bad.gate_norm_eps = -1;
  refused(bad);
}

}  // namespace
}  // namespace gated::gmlp_block_test
