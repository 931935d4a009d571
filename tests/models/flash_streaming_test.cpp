#include <gtest/gtest.h>

#include <algorithm>

#include "gated/models/flash_language_model.hpp"
#include "gated/models/gau_presets.hpp"
#include "tests/core/allocations.hpp"
#include "tests/layers/literal_attention.hpp"

namespace gated {
namespace {

using test::allocations_during;
using test::is_untouched;
using test::near;
using test::random_layer;
using test::refuses;
using test::same_bits;
using test::untouched;
using test::wide;

constexpr Index vocabulary = 13, width = 8, s = 8, chunk = 16;

FlashLanguageModelConfig lucidrains() {
  return {.vocabulary = vocabulary,
          .head = {.tied = false},
          .trunk = {.depth = 2, .layer = flash_presets::lucidrains(width, chunk, true, s)}};
}
FlashLanguageModelConfig paper() {
  return {.vocabulary = vocabulary, .trunk = {.depth = 2, .layer = flash_presets::paper(width, chunk, true, s)}};
}

std::vector<Index> random_tokens(Index count) {
  std::vector<Index> tokens(static_cast<std::size_t>(count));
  Random random(9);
  for (Index& token : tokens) {
    token = static_cast<Index>(random.uniform() * static_cast<double>(vocabulary));
  }
  return tokens;
}

std::size_t bytes_by_formula(const FlashLanguageModelConfig& config, std::size_t scalar) {
  const MixedChunkAttentionConfig& c = config.trunk.layer;
  const Index numbers = c.query_key * c.value + c.chunk * (2 * c.query_key + c.value) + (c.token_shift ? c.channels : 0);
  return scalar * static_cast<std::size_t>(config.trunk.depth * numbers);
}

template <class T>
class FlashStreaming : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FlashStreaming, Scalars, );

TYPED_TEST(FlashStreaming, EveryOfTenThousandStepsEqualsItsRowOfTheBatchAndTheStateDoesNotGrow) {
  using T = TypeParam;
  const Index n = 10000;
  const std::vector<Index> tokens = random_tokens(n);
  for (const auto& config : {lucidrains(), paper()}) {
    const auto model = random_layer<FlashLanguageModel<T>>(config);
    Workspace<T> workspace;
    const Matrix<T> whole = model.forward(tokens, Sequences::single(n), workspace);
    auto state = model.start();
    const std::size_t bytes = bytes_by_formula(config, sizeof(T));
    EXPECT_EQ(state.bytes(), bytes);
    Matrix<T> y(1, vocabulary);
    for (Index t = 0; t < n; ++t) {
      ASSERT_EQ(state.position(), t);
      model.step(tokens[static_cast<std::size_t>(t)], state, y, workspace);
      ASSERT_TRUE(near(y, wide<T>(whole.row(t)))) << "token " << t;
      ASSERT_EQ(state.bytes(), bytes);
    }
  }
}

TYPED_TEST(FlashStreaming, APrefillInAnySplitEqualsSteps) {
  using T = TypeParam;
  const std::vector<Index> tokens = random_tokens(100);
  for (const auto& config : {lucidrains(), paper()}) {
    const auto model = random_layer<FlashLanguageModel<T>>(config);
    Workspace<T> workspace;
    auto state = model.start();
    Matrix<T> steps(100, vocabulary);
    for (Index t = 0; t < 100; ++t) {
      model.step(tokens[static_cast<std::size_t>(t)], state, steps.row(t), workspace);
    }
    for (const std::vector<Index>& split :
         {std::vector<Index>{100}, std::vector<Index>{16, 16, 68}, std::vector<Index>{15, 2, 83},
          std::vector<Index>{1, 50, 0, 49}, std::vector<Index>{99, 1}}) {
      auto other = model.start();
      Matrix<T> y(100, vocabulary);
      Index first = 0;
      for (const Index rows : split) {
        model.prefill(Tokens(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)), other,
                      y.middleRows(first, rows), workspace);
        first += rows;
      }
      EXPECT_TRUE(near(y, wide(steps)));
      Matrix<T> next(1, vocabulary), expected(1, vocabulary);
      auto after = state;
      model.step(3, other, next, workspace);
      model.step(3, after, expected, workspace);
      EXPECT_TRUE(near(next, wide(expected))) << "what follows";
    }
  }
}

TYPED_TEST(FlashStreaming, APrefillMayGiveTheLastTokensRowOnly) {
  using T = TypeParam;
  const std::vector<Index> tokens = random_tokens(37);
  const auto model = random_layer<FlashLanguageModel<T>>(lucidrains());
  Workspace<T> workspace;
  auto one = model.start(), all = model.start();
  Matrix<T> last(1, vocabulary), rows(37, vocabulary);
  model.prefill(tokens, one, last, workspace);
  model.prefill(tokens, all, rows, workspace);
  EXPECT_TRUE(near(last, wide<T>(rows.bottomRows(1))));
}

TYPED_TEST(FlashStreaming, ACopiedStateBranches) {
  using T = TypeParam;
  const std::vector<Index> tokens = random_tokens(40);
  const auto model = random_layer<FlashLanguageModel<T>>(lucidrains());
  Workspace<T> workspace;
  auto state = model.start();
  Matrix<T> y(20, vocabulary), one(1, vocabulary), two(1, vocabulary), again(1, vocabulary);
  model.prefill(Tokens(tokens).first(20), state, y, workspace);
  const auto saved = state;
  auto branch = saved;
  for (Index t = 20; t < 40; ++t) {
    model.step(5, branch, one, workspace);
  }
  auto straight = saved;
  for (std::size_t t = 20; t < 40; ++t) {
    model.step(tokens[t], state, two, workspace);
    model.step(tokens[t], straight, again, workspace);
    ASSERT_TRUE(same_bits(two, again)) << t;
  }
  EXPECT_EQ(saved.position(), 20);
  EXPECT_FALSE(near(one, wide(two)));
}

TYPED_TEST(FlashStreaming, GivesEqualBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const std::vector<Index> tokens = random_tokens(50);
  const auto model = random_layer<FlashLanguageModel<T>>(paper());
  Workspace<T> one;
  auto state = model.start();
  Matrix<T> expected(50, vocabulary);
  model.prefill(tokens, state, expected, one);
  for (const int threads : {2, 3}) {
    Workspace<T> workspace(Threads{threads});
    auto other = model.start();
    Matrix<T> y(50, vocabulary);
    model.prefill(tokens, other, y, workspace);
    EXPECT_TRUE(same_bits(y, expected)) << threads;
  }
}

TYPED_TEST(FlashStreaming, WarmStepsAndPrefillsAllocateNothing) {
  using T = TypeParam;
  const std::vector<Index> tokens = random_tokens(3 * chunk);
  for (const auto& config : {lucidrains(), paper()}) {
    const auto model = random_layer<FlashLanguageModel<T>>(config);
    for (const int threads : {1, 2}) {
      Workspace<T> workspace(Threads{threads});
      auto state = model.start();
      Matrix<T> y(1, vocabulary);
      const auto steps = [&] {
        for (const Index token : tokens) {
          model.step(token, state, y, workspace);
        }
      };
      model.step(0, state, y, workspace);
      EXPECT_EQ(allocations_during(steps), 0) << threads;
      const auto prefill = [&] { model.prefill(tokens, state, y, workspace); };
      prefill();
      EXPECT_EQ(allocations_during(prefill), 0) << threads;
    }
  }
}

TEST(FlashLanguageModel, RefusesToStreamUnlessItIsCausal) {
  auto config = lucidrains();
  config.trunk.layer.causal = false;
  EXPECT_TRUE(refuses<ArgumentError>([&] { FlashLanguageModel<float>(config).start(); }, "Build it with causal = true"));
}

TEST(FlashLanguageModel, RefusesBadStepsAndLeavesTheStateUnchanged) {
  auto config = lucidrains();
  config.position = PositionForm::sinusoid_table;
  config.max_length = 30;
  const auto model = random_layer<FlashLanguageModel<float>>(config);
  Workspace<float> workspace;
  auto state = model.start();
  const std::vector<Index> tokens = random_tokens(20);
  Matrix<float> rows(20, vocabulary);
  model.prefill(tokens, state, rows, workspace);
  auto before = state;
  const auto refuse = [&](const std::vector<Index>& more, Index y_rows, Index y_columns, const std::string& part) {
    Matrix<float> y = untouched<float>(y_rows, y_columns);
    EXPECT_TRUE(refuses<Error>([&] { model.prefill(more, state, y, workspace); }, part));
    EXPECT_TRUE(is_untouched(y)) << part;
    EXPECT_EQ(state.position(), 20);
  };
  refuse({1, 2, 13}, 3, vocabulary, "token 2 has id 13, expected 0 … 12");
  refuse({-1}, 1, vocabulary, "token 0 has id -1");
  refuse({1, 2, 3}, 2, vocabulary, "output has 2 rows, expected 3");
  refuse({}, 1, vocabulary, "output has 1 rows, expected 0");
  refuse({1}, 1, width, "output is 1 × 8, expected 1 × 13");
  refuse(random_tokens(11), 11, vocabulary, "a sequence has 31 tokens, but the position table holds 30");
  auto foreign = FlashLanguageModel<float>(paper()).start();
  Matrix<float> y = untouched<float>(1, vocabulary), expected(1, vocabulary);
  EXPECT_TRUE(refuses<ArgumentError>([&] { model.step(1, foreign, y, workspace); }, "Make it with start() of this model"));
  EXPECT_TRUE(is_untouched(y));
  model.step(4, state, y, workspace);
  model.step(4, before, expected, workspace);
  EXPECT_TRUE(same_bits(y, expected)) << "as if nothing had been asked";
}

}  // namespace
}  // namespace gated
