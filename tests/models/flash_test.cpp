#include "gated/models/flash.hpp"

#include <gtest/gtest.h>

#include "gated/models/gau_presets.hpp"
#include "tests/layers/literal_attention.hpp"

// Tests specific to a stack of FLASH layers; stack_test.cpp tests all stacks.

namespace gated::flash_test {
namespace {

using test::is_untouched;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::untouched;
using test::wide;

constexpr Index width = 7, s = 8, chunk = 5;

std::vector<FlashConfig> configs(bool causal) {
  const flash_presets::Sizes sizes{.channels = width, .query_key = s, .chunk = chunk, .causal = causal};
  return {{.depth = 3, .block = flash_presets::lucidrains(sizes)},
          {.depth = 2, .block = flash_presets::paper(sizes)},
          {.depth = 0, .block = flash_presets::paper(sizes)}};
}

template <class T>
class FlashOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FlashOf, Scalars, );

TYPED_TEST(FlashOf, EqualsItsFormula) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({7, 12, 0, 1});
  const auto x = random_matrix<T>(20, width, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (const bool causal : {false, true}) {
    for (const FlashConfig& config : configs(causal)) {
      const auto model = random_layer<Flash<T>>(config);
      Workspace<T> workspace;
      Matrix<double> expected = wide(x);
      for (const auto& block : model.blocks) {
        expected = literal::mixed_chunk_attention(block, expected, sequences, mask);
      }
      Matrix<T> y = model.forward(x, sequences, workspace, mask);
      EXPECT_TRUE(near(y, expected));
      Matrix<T> in_place = x;
      model.forward(in_place, sequences, in_place, workspace, mask);
      EXPECT_TRUE(same_bits(in_place, y));
    }
  }
}

TYPED_TEST(FlashOf, StreamingIsBitEqualToForward) {
  using T = TypeParam;
  const auto x = random_matrix<T>(23, width, 2);
  for (const FlashConfig& config : configs(true)) {
    const auto model = random_layer<Flash<T>>(config);
    Workspace<T> workspace;
    const Matrix<T> whole = model.forward(x, Sequences::single(23), workspace);
    auto state = model.start();
    Matrix<T> y(23, width);
    Index first = 0;
    for (const Index rows : {4, 1, 1, 0, 11, 6}) {
      EXPECT_EQ(state.position(), first);
      model.extend(x.middleRows(first, rows), state, y.middleRows(first, rows), workspace);
      first += rows;
    }
    EXPECT_TRUE(same_bits(y, whole));
  }
}

TEST(FlashState, HasConstantSizeForAnyLength) {
  const auto x = random_matrix<float>(1, width, 2);
  for (const FlashConfig& config : configs(true)) {
    const auto model = random_layer<Flash<float>>(config);
    auto state = model.start();
    const Index e = config.block.value, shift = config.block.token_shift ? width : 0;
    const auto bytes = sizeof(float) * static_cast<std::size_t>(config.depth * (s * e + chunk * (2 * s + e) + shift));
    Workspace<float> workspace;
    Matrix<float> y(1, width);
    EXPECT_EQ(state.capacity(), State<float>::unlimited);
    for (Index t = 0; t < 3 * chunk; ++t) {
      EXPECT_EQ(state.bytes(), bytes);
      model.extend(x, state, y, workspace);
    }
    EXPECT_EQ(state.bytes(), bytes);
    EXPECT_EQ(state.position(), 3 * chunk);
  }
}

TEST(FlashState, CannotRewindButCanBeCopied) {
  const auto x = random_matrix<float>(12, width, 2);
  const auto model = random_layer<Flash<float>>(configs(true)[0]);
  Workspace<float> workspace;
  Matrix<float> y(12, width), again(5, width);
  auto state = model.start();
  model.extend(x.topRows(7), state, y.topRows(7), workspace);
  const auto saved = state;
  model.extend(x.bottomRows(5), state, y.bottomRows(5), workspace);
  EXPECT_TRUE(
      refuses<ArgumentError>([&] { state.rewind(7); }, "To return to a position later, copy the state at that position."));
  EXPECT_EQ(state.position(), 12);
  state = saved;
  EXPECT_EQ(state.position(), 7);
  model.extend(x.bottomRows(5), state, again, workspace);
  EXPECT_TRUE(same_bits(again, y.bottomRows(5)));
}

TEST(Flash, HandlesFullyMaskedSequences) {
  const auto sequences = Sequences::of_lengths({1, 5});
  const std::vector<std::uint8_t> mask{0, 1, 1, 1, 1, 1};
  const auto x = random_matrix<float>(6, width, 1);
  for (const bool causal : {false, true}) {
    for (const FlashConfig& config : configs(causal)) {
      const auto model = random_layer<Flash<float>>(config);
      Matrix<double> expected = wide(x);
      for (const auto& block : model.blocks) {
        expected = literal::mixed_chunk_attention(block, expected, sequences, mask);
      }
      Workspace<float> workspace;
      EXPECT_TRUE(near(model.forward(x, sequences, workspace, mask), expected))
          << "the kernels must handle a sequence without a visible token";
    }
  }
}

TEST(Flash, RefusesBadInputBeforeWriting) {
  const auto model = random_layer<Flash<float>>(configs(true)[0]);
  Workspace<float> workspace;
  const auto refuse = [&](Index columns, const Sequences& sequences, Index y_rows, Index y_columns,
                          const std::vector<std::uint8_t>& mask) {
    Matrix<float> y = untouched<float>(y_rows, y_columns);
    EXPECT_THROW(model.forward(random_matrix<float>(6, columns, 1), sequences, y, workspace, mask), ShapeError);
    EXPECT_TRUE(is_untouched(y));
  };
  refuse(width + 1, Sequences::single(6), 6, width, {});
  refuse(width, Sequences::single(7), 6, width, {});
  refuse(width, Sequences::single(6), 6, width + 1, {});
  refuse(width, Sequences::single(6), 5, width, {});
  refuse(width, Sequences::single(6), 6, width, {1});
  EXPECT_TRUE(refuses<ArgumentError>([] { Flash<float>(FlashConfig{.depth = -1}); }, "depth = -1"));
}

TEST(Flash, RefusesToStreamIfNotCausal) {
  EXPECT_TRUE(refuses<ArgumentError>([] { Flash<float>(configs(false)[0]).start(); }, "Build it with causal = true"));
}

TEST(Flash, RefusesStatesOfOtherConfigurations) {
  const auto model = random_layer<Flash<float>>(configs(true)[0]);
  Workspace<float> workspace;
  std::vector<FlashConfig> others(3, model.config);
  others[0].depth = 2;
  others[1].block.chunk = 6;
  others[2].block.value = 8;
  for (const FlashConfig& other : others) {
    const Flash<float> stranger(other);
    auto state = stranger.start();
    Matrix<float> y = untouched<float>(1, width);
    EXPECT_TRUE(refuses<ArgumentError>([&] { model.extend(Matrix<float>::Ones(1, width), state, y, workspace); },
                                       "Make one with this model's start()"));
    EXPECT_TRUE(is_untouched(y));
    EXPECT_EQ(state.position(), 0);
  }
}

}  // namespace
}  // namespace gated::flash_test
