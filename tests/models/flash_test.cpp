#include "gated/models/flash.hpp"

#include <gtest/gtest.h>

#include "gated/models/gau_presets.hpp"
#include "tests/layers/literal_attention.hpp"

namespace gated {
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
  return {{.depth = 3, .layer = flash_presets::lucidrains(width, chunk, causal, s)},
          {.depth = 2, .layer = flash_presets::paper(width, chunk, causal, s)},
          {.depth = 0, .layer = flash_presets::paper(width, chunk, causal, s)}};
}

template <class T>
class FlashOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FlashOf, Scalars, );

TYPED_TEST(FlashOf, IsItsLayersOneAfterTheOther) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({7, 12, 0, 1});
  const auto x = random_matrix<T>(20, width, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (const bool causal : {false, true}) {
    for (const FlashConfig& config : configs(causal)) {
      const auto model = random_layer<Flash<T>>(config);
      Workspace<T> workspace;
      Matrix<double> expected = wide(x);
      for (const auto& layer : model.layers) {
        expected = literal::mixed_chunk_attention(layer, expected, sequences, mask);
      }
      Matrix<T> y = model.forward(x, sequences, workspace, mask);
      EXPECT_TRUE(near(y, expected));
      Matrix<T> in_place = x;
      model.forward(in_place, sequences, in_place, workspace, mask);
      EXPECT_TRUE(same_bits(in_place, y));
    }
  }
}

TYPED_TEST(FlashOf, StreamsWhatTheBatchGives) {
  using T = TypeParam;
  const auto x = random_matrix<T>(23, width, 2);
  for (const FlashConfig& config : configs(true)) {
    const auto model = random_layer<Flash<T>>(config);
    Workspace<T> workspace;
    const Matrix<double> whole = wide(model.forward(x, Sequences::single(23), workspace));
    auto state = model.start();
    Matrix<T> y(23, width);
    Index first = 0;
    for (const Index rows : {4, 1, 1, 0, 11, 6}) {
      EXPECT_EQ(state.position(), first);
      model.extend(x.middleRows(first, rows), state, y.middleRows(first, rows), workspace);
      first += rows;
    }
    EXPECT_TRUE(near(y, whole));
  }
}

TEST(FlashState, HoldsTheBytesOfItsFormulaHoweverLongTheSequence) {
  const auto x = random_matrix<float>(1, width, 2);
  for (const FlashConfig& config : configs(true)) {
    const auto model = random_layer<Flash<float>>(config);
    auto state = model.start();
    const Index e = config.layer.value, shift = config.layer.token_shift ? width : 0;
    const auto bytes = sizeof(float) * static_cast<std::size_t>(config.depth * (s * e + chunk * (2 * s + e) + shift));
    Workspace<float> workspace;
    Matrix<float> y(1, width);
    for (Index t = 0; t < 3 * chunk; ++t) {
      EXPECT_EQ(state.bytes(), bytes);
      model.extend(x, state, y, workspace);
    }
    EXPECT_EQ(state.bytes(), bytes);
    EXPECT_EQ(state.position(), 3 * chunk);
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
  refuse(width, Sequences::of_lengths({1, 5}), 6, width, {0, 1, 1, 1, 1, 1});
  EXPECT_TRUE(refuses<ArgumentError>([] { Flash<float>(FlashConfig{.depth = -1}); }, "depth = -1"));
}

TEST(Flash, RefusesToStreamUnlessItIsCausal) {
  EXPECT_TRUE(refuses<ArgumentError>([] { Flash<float>(configs(false)[0]).start(); }, "Build it with causal = true"));
}

TEST(Flash, RefusesStatesOfOtherModelsAndLeavesThemUnchanged) {
  const auto model = random_layer<Flash<float>>(configs(true)[0]);
  Workspace<float> workspace;
  std::vector<FlashConfig> others(3, model.config);
  others[0].depth = 2;
  others[1].layer.chunk = 6;
  others[2].layer.value = 8;
  for (const FlashConfig& other : others) {
    auto state = Flash<float>(other).start();
    Matrix<float> y = untouched<float>(1, width);
    EXPECT_TRUE(refuses<ArgumentError>([&] { model.extend(Matrix<float>::Ones(1, width), state, y, workspace); },
                                       "Make it with start() of this model"));
    EXPECT_TRUE(is_untouched(y));
    EXPECT_EQ(state.position(), 0);
  }
}

}  // namespace
}  // namespace gated
