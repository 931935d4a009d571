#include "gated/train/transformer_block.hpp"

#include "tests/core/allocations.hpp"
#include "tests/train/steps.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::for_each_value;
using test::random_matrix;

using Config = TransformerBlockConfig;
using Block = TransformerBlock<double>;

const Sequences sequences = Sequences::of_lengths({7, 0, 1, 5});  // chunks of 3: whole, short and none
constexpr Index rows = 13;

Config small(bool causal, Index heads = 3) {
  return {.channels = 6, .heads = heads, .feed_forward = 7, .chunk = 3, .causal = causal};
}

template <class T = double>
TransformerBlock<T> shaken(const Config& config) {
  TransformerBlock<T> block(config);
  test::shake(block, 3);
  return block;
}

const auto run = [](auto& tape, const auto& block, Variable x) { return record(tape, block, x, sequences); };

void expect_block_gradients(const Config& config, const TapeOptions& options = {}) {
  expect_gradients(shaken(config), random_matrix<double>(rows, 6, 4), run, 1e-6, options, 5);
}

TEST(TrainTransformerBlock, GradientsOfEveryEnumerationValue) {
  for (const bool causal : {false, true}) {
    for_each_value(small(causal), &Config::attention, [&](const Config& config) {
      for_each_value(config, &Config::activation, [](const Config& active) { expect_block_gradients(active); });
      for_each_value(config, &Config::reduction, [](const Config& reduced) {
        if (!reduced.causal || reduced.reduction != LinearReduction::own_chunk) {
          expect_block_gradients(reduced);
        }
      });
    });
  }
}

TEST(TrainTransformerBlock, GradientsForAnyNumberOfHeadsWithDropout) {
  for (const Index heads : {1, 2, 6}) {
    for_each_value(small(heads == 2, heads), &Config::attention, [](const Config& config) {
      expect_block_gradients(config, {.attention_dropout = 0.3, .residual_dropout = 0.2});
    });
  }
}

TEST(TrainTransformerBlock, ForwardIsTheInferenceForward) {
  const auto x = random_matrix<float>(rows, 6, 4);
  for_each_value(small(true), &Config::attention, [&](const Config& config) {
    const auto block = shaken<float>(config);
    Workspace<float> workspace;
    EXPECT_TRUE(test::same_bits(test::step_of(block, x, run).output, block.forward(x, sequences, workspace)));
  });
}

TEST(TrainTransformerBlock, BitsDoNotDependOnThreads) {
  const Sequences longer = Sequences::of_lengths({300, 170});
  const auto x = random_matrix<float>(470, 48, 4);
  const auto longer_run = [&](auto& tape, const auto& block, Variable input) { return record(tape, block, input, longer); };
  for_each_value(Config{.channels = 48, .heads = 2, .chunk = 64}, &Config::attention, [&](const Config& config) {
    const auto block = shaken<float>(config);
    const TapeOptions options{.attention_dropout = 0.1, .residual_dropout = 0.1};
    test::expect_same_bits(test::step_of(block, x, longer_run, 3, options), test::step_of(block, x, longer_run, 1, options));
  });
}

TEST(TrainTransformerBlock, AWarmStepAllocatesNothing) {
  for_each_value(small(true), &Config::attention, [](const Config& config) {
    const auto block = shaken(config);
    auto gradient = zeros_like(block);
    const auto x = random_matrix<double>(rows, 6, 4), cotangent = random_matrix<double>(rows, 6, 5);
    Tape<double> tape(Threads{2}, {.attention_dropout = 0.1, .residual_dropout = 0.1});
    Random random(1);
    const auto step = [&] {
      tape.begin(block, gradient, random);
      tape.backward(run(tape, block, tape.input(x)), cotangent);
    };
    step();
    step();  // begins with memory in one piece
    EXPECT_EQ(test::allocations_during(step), 0);
  });
}

TEST(TrainTransformerBlock, RefusesWhatTheForwardRefuses) {
  const auto block = shaken(small(true));
  auto gradient = zeros_like(block);
  Tape<double> tape;
  tape.begin(block, gradient);
  const auto good = random_matrix<double>(rows, 6, 1), narrow = random_matrix<double>(rows, 5, 1);
  EXPECT_THROW(record(tape, block, tape.input(narrow), sequences), ShapeError);
  EXPECT_THROW(record(tape, block, tape.input(good), Sequences::single(12)), ShapeError);
}

}  // namespace
}  // namespace gated
