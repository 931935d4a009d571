#include "gated/models/flash.hpp"

#include <gtest/gtest.h>

#include "tests/core/allocations.hpp"
#include "trunks.hpp"

// Tests specific to FLASH as a language model; language_model_test.cpp tests all language models.

namespace gated::flash_language_model_test {
namespace {

using test::allocations_during;
using test::expect_fair_spending;
using test::is_untouched;
using test::literal_model;
using test::near;
using test::random_layer;
using test::random_tokens;
using test::refuses;
using test::same_bits;
using test::untouched;

constexpr Index vocabulary = 13, width = 8, s = 8, chunk = 16;

FlashLanguageModelConfig lucidrains(bool causal = true) {
  return {.vocabulary = vocabulary,
          .position = PositionForm::sinusoid,
          .head = {.form = HeadForm::untied, .bias = true},
          .trunk = {.depth = 2,
                    .block = flash_presets::lucidrains({.channels = width, .query_key = s, .chunk = chunk, .causal = causal})}};
}
FlashLanguageModelConfig paper(bool causal = true) {
  return {.vocabulary = vocabulary,
          .position = PositionForm::sinusoid,
          .trunk = {.depth = 2,
                    .block = flash_presets::paper({.channels = width, .query_key = s, .chunk = chunk, .causal = causal})}};
}

std::size_t bytes_by_formula(const FlashLanguageModelConfig& config, std::size_t scalar) {
  const MixedChunkAttentionConfig& c = config.trunk.block;
  const Index numbers = c.query_key * c.value + c.chunk * (2 * c.query_key + c.value) + (c.token_shift ? c.channels : 0);
  return scalar * static_cast<std::size_t>(config.trunk.depth * numbers);
}

template <class T>
class FlashLanguageModelOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FlashLanguageModelOf, Scalars, );

TYPED_TEST(FlashLanguageModelOf, EqualsItsFormulaOverSeveralChunks) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({50, 0, 13, 1});
  const std::vector<Index> tokens = random_tokens(64, vocabulary);
  auto hidden = test::random_mask(sequences, 3);
  hidden.back() = 0;  // masks the whole last sequence
  for (const bool causal : {false, true}) {
    for (const auto& config : {lucidrains(causal), paper(causal)}) {
      const auto model = random_layer<FlashLanguageModel<T>>(config);
      Workspace<T> workspace;
      constexpr double relative = 10 * test::tolerance<T>;
      EXPECT_TRUE(near(model.forward(tokens, sequences, workspace), literal_model(model, tokens, sequences), relative));
      EXPECT_TRUE(
          near(model.forward(tokens, sequences, workspace, hidden), literal_model(model, tokens, sequences, hidden), relative));
    }
  }
}

TYPED_TEST(FlashLanguageModelOf, TenThousandStepsEqualABatchAndKeepTheStateSize) {
  using T = TypeParam;
  const Index n = 10000;
  const std::vector<Index> tokens = random_tokens(n, vocabulary);
  for (const auto& config : {lucidrains(), paper()}) {
    const auto model = random_layer<FlashLanguageModel<T>>(config);
    Workspace<T> workspace;
    const Matrix<T> whole = model.forward(tokens, Sequences::single(n), workspace);
    auto state = model.start();
    const std::size_t bytes = bytes_by_formula(config, sizeof(T));
    EXPECT_EQ(state.bytes(), bytes);
    EXPECT_EQ(state.capacity(), State<T>::unlimited);
    Matrix<T> y(1, vocabulary);
    for (Index t = 0; t < n; ++t) {
      ASSERT_EQ(state.position(), t);
      model.step(tokens[static_cast<std::size_t>(t)], state, y, workspace);
      ASSERT_TRUE(same_bits(y, whole.row(t))) << "token " << t;
      ASSERT_EQ(state.bytes(), bytes);
    }
  }
}

TYPED_TEST(FlashLanguageModelOf, SplitPrefillsEqualSingleSteps) {
  using T = TypeParam;
  const std::vector<Index> tokens = random_tokens(100, vocabulary);
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
        model.extend(Tokens(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)), other,
                     y.middleRows(first, rows), workspace);
        first += rows;
      }
      EXPECT_TRUE(same_bits(y, steps));
      Matrix<T> next(1, vocabulary), expected(1, vocabulary);
      auto after = state;
      model.step(3, other, next, workspace);
      model.step(3, after, expected, workspace);
      EXPECT_TRUE(same_bits(next, expected)) << "the next step";
    }
  }
}

TYPED_TEST(FlashLanguageModelOf, WarmStepsAllocateNothingAcrossChunks) {
  using T = TypeParam;
  const std::vector<Index> tokens = random_tokens(3 * chunk, vocabulary);
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
      const auto prefill = [&] { model.extend(tokens, state, y, workspace); };
      prefill();
      EXPECT_EQ(allocations_during(prefill), 0) << threads;
    }
  }
}

/// Covers every norm, projection layout, position embedding and relative bias, and every form of head.
TEST(FlashLanguageModel, ChargesItsParametersToTheBudget) {
  for (const NormForm norm :
       {NormForm::none, NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt, NormForm::rms}) {
    for (const RelativeBiasForm bias : {RelativeBiasForm::none, RelativeBiasForm::t5, RelativeBiasForm::toeplitz}) {
      for (const PositionForm position : {PositionForm::none, PositionForm::sinusoid, PositionForm::sinusoid_table}) {
        for (const bool both : {false, true}) {
          const HeadForm form = norm == NormForm::rms ? HeadForm::none : both ? HeadForm::untied : HeadForm::tied;
          const FlashLanguageModelConfig config{
              .vocabulary = 9,
              .position = position,
              .max_length = 7,
              .head = {.form = form, .dense = both, .norm = norm, .bias = norm != NormForm::none},
              .trunk = {.depth = 2,
                        .block = {.channels = 6,
                                  .value = 5,
                                  .query_key = 4,
                                  .chunk = 3,
                                  .projection = both ? ProjectionLayout::fused : ProjectionLayout::separate,
                                  .norm = norm,
                                  .relative_bias = bias,
                                  .rotary = both ? Rotary::half : Rotary::none,
                                  .rotary_dimensions = norm == NormForm::rms ? 2 : 0}}};
          expect_fair_spending<FlashLanguageModel<float>>(config);
          expect_fair_spending<Flash<float>>(config.trunk);
        }
      }
    }
  }
}

TEST(FlashLanguageModel, RefusesInvalidConfigurations) {
  auto config = lucidrains();
  config.trunk.block.channels = 7;  // odd, but sines and cosines each need half the channels
  EXPECT_THROW(FlashLanguageModel<float>{config}, ArgumentError);
  config.position = PositionForm::none;
  EXPECT_NO_THROW(FlashLanguageModel<float>{config});
}

TEST(FlashLanguageModel, RefusesToStreamIfNotCausal) {
  EXPECT_TRUE(
      refuses<ArgumentError>([&] { FlashLanguageModel<float>(lucidrains(false)).start(); }, "Build it with causal = true"));
}

TEST(FlashLanguageModel, RefusesTokensBeyondItsPositionTable) {
  auto config = lucidrains();
  config.position = PositionForm::sinusoid_table;
  config.max_length = 30;
  const auto model = random_layer<FlashLanguageModel<float>>(config);
  Workspace<float> workspace;
  auto state = model.start();
  EXPECT_EQ(state.capacity(), 30);
  const std::vector<Index> tokens = random_tokens(31, vocabulary);
  Matrix<float> rows(20, vocabulary);
  model.extend(Tokens(tokens).first(20), state, rows, workspace);
  Matrix<float> y = untouched<float>(11, vocabulary);
  EXPECT_TRUE(refuses<ShapeError>([&] { model.extend(Tokens(tokens).last(11), state, y, workspace); },
                                  "11 tokens from position 20 exceed the 30 tokens that the model can serve"));
  EXPECT_TRUE(is_untouched(y));
  EXPECT_EQ(state.position(), 20);
  EXPECT_TRUE(refuses<ShapeError>([&] { model.forward(tokens, Sequences::single(31), workspace); },
                                  "sequence 0 of 1 has 31 tokens, expected 30 at most. Build the model with a larger "
                                  "max_length, or with position = sinusoid."));
}

TEST(FlashLanguageModel, RefusesStatesOfOtherConfigurations) {
  const auto model = random_layer<FlashLanguageModel<float>>(lucidrains());
  const FlashLanguageModel<float> stranger(paper());
  auto foreign = stranger.start();
  Workspace<float> workspace;
  Matrix<float> y = untouched<float>(1, vocabulary);
  EXPECT_TRUE(refuses<ArgumentError>([&] { model.step(1, foreign, y, workspace); }, "Make one with this model's start()"));
  EXPECT_TRUE(is_untouched(y));
  EXPECT_EQ(foreign.position(), 0);
}

}  // namespace
}  // namespace gated::flash_language_model_test
