#include "gated/layers/gmlp_block.hpp"

#include <gtest/gtest.h>

#include "literal.hpp"

namespace gated {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::same_bits;
using test::wide;

constexpr Index length = 11, channels = 10;

/// Blocks that differ in one option each, and one with everything.
std::vector<GmlpConfig> all_options() {
  const GmlpConfig plain{.length = length, .channels = channels, .hidden = 24};
  std::vector<GmlpConfig> configs(10, plain);
  configs[1].norm_position = NormPosition::post;
  configs[2].token_shift = 1;
  configs[3].token_shift = 2, configs[3].causal = true;
  configs[4].attention = 6;
  configs[5].attention = 6, configs[5].causal = true;
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
                .attention = 5,
                .token_shift = 1,
                .norm_position = NormPosition::post,
                .activation = Activation::relu,
                .gate_activation = Activation::sigmoid};
  return configs;
}

template <class T>
GmlpBlock<T> random_block(const GmlpConfig& config) {
  GmlpBlock<T> block(config);
  test::randomize(block, 1);
  return block;
}

template <class T>
class GmlpBlockOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GmlpBlockOf, Scalars, );

TYPED_TEST(GmlpBlockOf, EqualsItsFormulaWithEveryOption) {
  using T = TypeParam;
  const auto sequences = Sequences::uniform(2, length);
  const auto x = random_matrix<T>(2 * length, channels, 2);
  Matrix<T> y(x.rows(), x.cols());
  for (std::size_t i = 0; i < all_options().size(); ++i) {
    const auto block = random_block<T>(all_options()[i]);
    Workspace<T> workspace;
    block.forward(x, sequences, y, workspace);
    EXPECT_TRUE(near(y, literal::block(block, wide(x), sequences))) << "options " << i;
    block.branch(x, sequences, y, workspace);
    EXPECT_TRUE(near(y, literal::branch(block, wide(x), sequences))) << "options " << i << ", branch";
  }
}

TYPED_TEST(GmlpBlockOf, MayWriteOverItsInput) {
  using T = TypeParam;
  const auto sequences = Sequences::uniform(2, length);
  const auto x = random_matrix<T>(2 * length, channels, 2);
  for (std::size_t i = 0; i < all_options().size(); ++i) {
    const auto block = random_block<T>(all_options()[i]);
    Workspace<T> workspace;
    Matrix<T> y(x.rows(), x.cols()), in_place = x;
    block.forward(x, sequences, y, workspace);
    block.forward(in_place, sequences, in_place, workspace);
    EXPECT_TRUE(same_bits(in_place, y)) << "options " << i;
  }
}

TYPED_TEST(GmlpBlockOf, StartsAsAPlainFeedForward) {
  using T = TypeParam;
  GmlpBlock<T> block({.length = length, .channels = channels, .hidden = 24});
  Random random(1);
  block.initialize(random);
  const auto x = random_matrix<T>(length, channels, 2);
  Matrix<T> y(length, channels);
  Workspace<T> workspace;
  block.forward(x, Sequences::single(length), y, workspace);
  const Matrix<double> z =
      literal::activate(Activation::gelu, literal::linear(block.proj_in, literal::layer_norm(block.norm, wide(x))));
  EXPECT_TRUE(near(y, wide(x) + literal::linear(block.proj_out, z.leftCols(12)), 2e-5));
}

TYPED_TEST(GmlpBlockOf, StreamsWhatForwardComputes) {
  using T = TypeParam;
  const auto x = random_matrix<T>(length, channels, 2);
  for (std::size_t i = 0; i < all_options().size(); ++i) {
    const auto block = random_block<T>(all_options()[i]);
    if (!block.config.causal) {
      continue;
    }
    Workspace<T> workspace;
    Matrix<T> whole(length, channels), y(length, channels);
    block.forward(x, Sequences::single(length), whole, workspace);
    auto state = block.start();
    for (const auto& [first, rows] : {std::pair<Index, Index>{0, 4}, {4, 1}, {5, 0}, {5, 1}, {6, 5}}) {
      block.extend(x.middleRows(first, rows), first, state, y.middleRows(first, rows), workspace);
    }
    EXPECT_TRUE(near(y, wide(whole))) << "options " << i;
  }
}

TEST(GmlpBlock, CountsTheParametersOfItsLayers) {
  const Index n = 196, c = 256, f = 1536;
  const Index plain = 2 * c + (c * f + f) + 2 * (f / 2) + (n * n + n) + (f / 2 * c + c);
  EXPECT_EQ(parameter_count(GmlpBlock<float>({.length = n, .channels = c, .hidden = f})), plain);
  EXPECT_EQ(parameter_count(GmlpBlock<float>({.length = n, .channels = c, .hidden = f, .attention = 64})),
            plain + c * 3 * 64 + 64 * (f / 2) + f / 2);
}

TEST(GmlpBlock, RefusesOtherShapesBeforeWriting) {
  for (const GmlpConfig& config : all_options()) {
    const auto block = random_block<float>(config);
    Workspace<float> workspace;
    const auto x = [](Index rows, Index columns) { return Matrix<float>::Zero(rows, columns); };
    Matrix<float> y = Matrix<float>::Constant(length, channels, 7), longer = Matrix<float>::Constant(length + 1, channels, 7);
    EXPECT_THROW(block.forward(x(length, 9), Sequences::single(length), y, workspace), ShapeError);
    EXPECT_THROW(block.forward(x(length, channels), Sequences::single(length - 1), y, workspace), ShapeError);
    EXPECT_THROW(block.forward(x(length, channels), Sequences::single(length), longer, workspace), ShapeError);
    EXPECT_THROW(block.forward(x(length + 1, channels), Sequences::single(length + 1), longer, workspace), ShapeError);
    EXPECT_THROW(block.branch(x(length + 1, channels), Sequences::single(length + 1), longer, workspace), ShapeError);
    EXPECT_TRUE((y.array() == 7).all());
    EXPECT_TRUE((longer.array() == 7).all());
  }
}

TEST(GmlpBlock, RefusesToStreamWhatItCannot) {
  EXPECT_NE(message_of<ArgumentError>([] {
              GmlpBlock<float>({.length = 4, .channels = 2, .hidden = 4}).start();
            }).find("Build it with causal = true"),
            std::string::npos);

  const auto block = random_block<float>(all_options()[3]);
  auto state = block.start();
  Workspace<float> workspace;
  Matrix<float> x = Matrix<float>::Zero(2, channels), y = Matrix<float>::Constant(2, channels, 7);
  EXPECT_THROW(block.extend(x, length - 1, state, y, workspace), ShapeError);
  EXPECT_THROW(block.extend(x, -1, state, y, workspace), ShapeError);
  EXPECT_THROW(block.extend(Matrix<float>::Zero(2, channels + 1), 0, state, y, workspace), ShapeError);
  EXPECT_THROW(block.extend(Matrix<float>::Zero(1, channels), 0, state, y, workspace), ShapeError);
  auto other = random_block<float>(all_options()[5]).start();
  EXPECT_EQ(message_of<ArgumentError>([&] { block.extend(x, 0, other, y, workspace); }),
            "GmlpBlock::extend: the state is of another configuration. Make it with start().");
  EXPECT_TRUE((y.array() == 7).all());
  EXPECT_TRUE((state.gate.array() == 0).all());
  EXPECT_TRUE((state.shifted.array() == 0).all());
}

TEST(GmlpBlock, RefusesToBeBuiltFromConfigurationsThatMakeNoSense) {
  const auto refused = [](GmlpConfig config) { EXPECT_THROW(GmlpBlock<float>{config}, ArgumentError); };
  const GmlpConfig good = all_options()[0];
  EXPECT_NO_THROW(GmlpBlock<float>{good});
  GmlpConfig bad = good;
  bad.attention = -1;
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
}  // namespace gated
