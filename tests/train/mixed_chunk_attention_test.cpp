#include "gated/train/mixed_chunk_attention.hpp"

#include "gated/models/gau_presets.hpp"
#include "tests/core/allocations.hpp"
#include "tests/train/steps.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::for_each_value;
using test::random_matrix;

using Config = MixedChunkAttentionConfig;
using Layer = MixedChunkAttention<double>;

const Sequences sequences = Sequences::of_lengths({11, 0, 3, 1, 8});  // chunks of 4: whole, short and none
constexpr Index rows = 23;

/// Small widths and everything on that can be.
Config small(bool causal = false) {
  return {.channels = 5,
          .value = 6,
          .query_key = 4,
          .chunk = 4,
          .rotary = Rotary::interleaved,
          .rotary_dimensions = 2,
          .token_shift = true,
          .causal = causal};
}

template <class T = double>
MixedChunkAttention<T> shaken(const Config& config) {
  MixedChunkAttention<T> layer(config);
  test::shake(layer, 3);
  return layer;
}

const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1};

const auto run = [](auto& tape, const auto& layer, Variable x) { return record(tape, layer, x, sequences); };
const auto run_masked = [](auto& tape, const auto& layer, Variable x) { return record(tape, layer, x, sequences, mask); };

void expect_layer_gradients(const Config& config) { expect_gradients(shaken(config), random_matrix<double>(rows, 5, 4), run); }
void expect_masked_gradients(const Config& config) {
  expect_gradients(shaken(config), random_matrix<double>(rows, 5, 4), run_masked);
}

TEST(TrainMixedChunkAttention, GradientsOfEveryEnumerationValue) {
  for (const bool causal : {false, true}) {
    for_each_value(small(causal), &Config::projection, expect_layer_gradients);
    for_each_value(small(causal), &Config::activation, expect_layer_gradients);
    for_each_value(small(causal), &Config::norm, expect_layer_gradients);
    for_each_value(small(causal), &Config::offset_scale_order, expect_masked_gradients);
    for_each_value(small(causal), &Config::relative_bias, expect_masked_gradients);
    for_each_value(small(causal), &Config::rotary, [](Config config) {
      expect_layer_gradients(config);
      config.rotary_dimensions = 0;
      expect_layer_gradients(config);
    });
    for (const auto kernel : {ScoreKernel::relu2, ScoreKernel::laplace, ScoreKernel::laplace_legacy}) {
      auto config = small(causal);
      config.kernel = kernel;
      expect_masked_gradients(config);
    }
  }
}

TEST(TrainMixedChunkAttention, GradientsOfEveryReductionAtEveryChunk) {
  for (const bool causal : {false, true}) {
    for_each_value(small(causal), &Config::reduction, [&](Config config) {
      if (causal && config.reduction == LinearReduction::own_chunk) {
        return;
      }
      for (const Index chunk : {1, 3, 4, 20}) {
        config.chunk = chunk;
        config.token_shift = chunk == 3;
        expect_layer_gradients(config);
        expect_masked_gradients(config);
      }
    });
  }
}

TEST(TrainMixedChunkAttention, GradientsOfThePresets) {
  for (const bool causal : {false, true}) {
    expect_masked_gradients(flash_presets::lucidrains(5, 4, causal, 4));
    expect_masked_gradients(flash_presets::paper(5, 4, causal, 4));
  }
}

TEST(TrainMixedChunkAttention, GradientsWithDropout) {
  for (const bool causal : {false, true}) {
    expect_gradients(shaken(small(causal)), random_matrix<double>(rows, 5, 4), run_masked, 1e-6,
                     {.attention_dropout = 0.3, .residual_dropout = 0.2}, 5);
  }
}

TEST(TrainMixedChunkAttention, EveryChunkHasAMaskOfItsOwn) {
  const DropoutMask<double> mask_of_all(1, 0.5);
  ChunkMixing<double> mixing{.chunk = 4};
  mixing.local.dropout = mask_of_all;
  for (const Index h : {0, 1, 5}) {
    for (Index i = 0; i < 4; ++i) {
      for (Index j = 0; j < 4; ++j) {
        EXPECT_EQ(mixing.local_of(h).dropout(i, j, 1).largest(), mask_of_all(4 * h + i, j, 1).largest());
      }
    }
  }
}

TEST(TrainMixedChunkAttention, ForwardIsTheInferenceForward) {
  const auto x = random_matrix<float>(rows, 5, 4);
  for (const bool causal : {false, true}) {
    const auto layer = shaken<float>(small(causal));
    Workspace<float> workspace;
    EXPECT_TRUE(test::same_bits(test::step_of(layer, x, run_masked).output, layer.forward(x, sequences, workspace, mask)));
  }
}

TEST(TrainMixedChunkAttention, BitsDoNotDependOnThreads) {
  const Sequences longer = Sequences::of_lengths({300, 170});
  const auto x = random_matrix<float>(470, 24, 4);
  const auto longer_run = [&](auto& tape, const auto& layer, Variable input) { return record(tape, layer, input, longer); };
  for (const bool causal : {false, true}) {
    const auto layer = shaken<float>(flash_presets::lucidrains(24, 64, causal, 16));
    const TapeOptions options{.attention_dropout = 0.1, .residual_dropout = 0.1};
    test::expect_same_bits(test::step_of(layer, x, longer_run, 3, options), test::step_of(layer, x, longer_run, 1, options));
  }
}

TEST(TrainMixedChunkAttention, AWarmStepAllocatesNothing) {
  const auto layer = shaken(small(true));
  auto gradient = zeros_like(layer);
  const auto x = random_matrix<double>(rows, 5, 4), cotangent = random_matrix<double>(rows, 5, 5);
  Tape<double> tape(Threads{2}, {.attention_dropout = 0.1, .residual_dropout = 0.1});
  Random random(1);
  const auto step = [&] {
    tape.begin(layer, gradient, random);
    tape.backward(run_masked(tape, layer, tape.input(x)), cotangent);
  };
  step();
  step();  // begins with memory in one piece
  EXPECT_EQ(test::allocations_during(step), 0);
}

TEST(TrainMixedChunkAttention, TakesNoMemoryForTokensThatAChunkCouldHold) {
  const auto bytes_of = [](Index chunk) {
    auto config = small();
    config.chunk = chunk;
    config.relative_bias = RelativeBiasForm::t5;
    const MixedChunkAttention<float> layer(config);
    auto gradient = zeros_like(layer);
    const auto x = random_matrix<float>(7, config.channels, 1);
    Tape<float> tape;
    tape.begin(layer, gradient);
    tape.backward(record(tape, layer, tape.input(x), Sequences::single(7)), x);
    return tape.bytes();
  };
  EXPECT_EQ(bytes_of(Index{1} << 30), bytes_of(7));
}

TEST(TrainMixedChunkAttention, RefusesWhatTheForwardRefuses) {
  const auto layer = shaken(small());
  auto gradient = zeros_like(layer);
  Tape<double> tape;
  tape.begin(layer, gradient);
  const auto good = random_matrix<double>(rows, 5, 1), narrow = random_matrix<double>(rows, 4, 1);
  const std::vector<std::uint8_t> short_mask(4, 1), empty_mask(23, 0);
  EXPECT_THROW(record(tape, layer, tape.input(narrow), sequences), ShapeError);
  EXPECT_THROW(record(tape, layer, tape.input(good), Sequences::single(22)), ShapeError);
  EXPECT_THROW(record(tape, layer, tape.input(good), sequences, short_mask), ShapeError);
  EXPECT_THROW(record(tape, layer, tape.input(good), sequences, empty_mask), ShapeError);
}

}  // namespace
}  // namespace gated
