#include "gated/train/gated_attention_unit.hpp"

#include "gated/models/gau_presets.hpp"
#include "tests/core/allocations.hpp"
#include "tests/train/steps.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::for_each_value;
using test::random_matrix;

using Config = GatedAttentionUnitConfig;
using Unit = GatedAttentionUnit<double>;

const Sequences sequences = Sequences::of_lengths({5, 0, 1, 7});
constexpr Index rows = 13;

/// Small widths and everything on that can be.
Config small() {
  return {.channels = 5,
          .value = 6,
          .query_key = 4,
          .max_length = 9,
          .relative_bias = RelativeBiasForm::t5,
          .relative_bias_scale = 1.7,
          .rotary = Rotary::interleaved};
}

template <class T = double>
GatedAttentionUnit<T> shaken(const Config& config) {
  GatedAttentionUnit<T> unit(config);
  test::shake(unit, 3);
  return unit;
}

std::vector<std::uint8_t> some_mask() { return {1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1}; }

void expect_unit_gradients(const Config& config, Mask mask = {}, const TapeOptions& options = {}) {
  const auto masked = [=](Tape<double>& tape, const Unit& unit, Variable x) { return record(tape, unit, x, sequences, mask); };
  expect_gradients(shaken(config), random_matrix<double>(rows, 5, 4), masked, 1e-6, options, 5);
}

TEST(TrainGatedAttentionUnit, GradientsOfEveryEnumerationValue) {
  const auto expect = [](const Config& config) { expect_unit_gradients(config); };
  for_each_value(small(), &Config::projection, expect);
  for_each_value(small(), &Config::activation, expect);
  for_each_value(small(), &Config::score_scale, expect);
  for_each_value(small(), &Config::residual, expect);
  for_each_value(small(), &Config::norm_position, [&](const Config& config) {  //
    for_each_value(config, &Config::norm, expect);
  });
}

TEST(TrainGatedAttentionUnit, GradientsOfEveryKernelWithMasks) {
  const auto mask = some_mask();
  for_each_value(small(), &Config::kernel, [&](const Config& config) {
    for_each_value(config, &Config::mask_mode, [&](Config masked) {
      for (const bool option : {false, true}) {
        masked.causal = masked.divide_by_keys = masked.bias_inside_scale = option;
        expect_unit_gradients(masked, mask);
      }
    });
  });
}

TEST(TrainGatedAttentionUnit, GradientsOfEveryPositionCode) {
  const auto mask = some_mask();
  for_each_value(small(), &Config::relative_bias, [&](const Config& config) {
    for_each_value(config, &Config::rotary, [&](Config coded) {
      for (const bool causal : {false, true}) {
        coded.causal = causal;
        coded.rotary_dimensions = causal ? 2 : 0;
        expect_unit_gradients(coded, mask);
      }
    });
  });
}

TEST(TrainGatedAttentionUnit, GradientsWithoutBiasesAndWithAnotherWidth) {
  auto config = small();
  config.bias = config.offset_bias = false;
  config.residual = Residual::none;
  config.out = 3;
  expect_unit_gradients(config);
  config.norm_position = NormPosition::post;
  expect_unit_gradients(config);
}

TEST(TrainGatedAttentionUnit, GradientsOfThePresets) {
  const auto mask = some_mask();
  for (const auto& preset : {gau_presets::paper(5, 9, 4), gau_presets::lucidrains(5, 4), gau_presets::gau_alpha(5, 4),
                             gau_presets::flash_quad_junnyu(5, 9, 4), gau_presets::rtmcc(5, 4)}) {
    expect_unit_gradients(preset, mask);
  }
}

TEST(TrainGatedAttentionUnit, GradientsWithABiasOfTheCaller) {
  const Matrix<double> bias = random_matrix<double>(8, 9, 6);
  for (const bool inside : {false, true}) {
    auto config = small();
    config.bias_inside_scale = inside;
    expect_gradients(shaken(config), random_matrix<double>(rows, 5, 4),
                     [&](Tape<double>& tape, const Unit& unit, Variable x) { return record(tape, unit, x, sequences, bias); });
  }
}

TEST(TrainGatedAttentionUnit, GradientsWithDropout) {
  expect_unit_gradients(small(), {}, {.attention_dropout = 0.3, .residual_dropout = 0.2});
}

TEST(TrainGatedAttentionUnit, ForwardIsTheInferenceForward) {
  const auto mask = some_mask();
  const Matrix<float> bias = random_matrix<float>(8, 9, 6), x = random_matrix<float>(rows, 5, 4);
  for_each_value(small(), &Config::kernel, [&](Config config) {
    for (const bool causal : {false, true}) {
      config.causal = causal;
      config.residual = Residual::scaled;
      config.norm_position = causal ? NormPosition::pre : NormPosition::post;
      const auto unit = shaken<float>(config);
      Matrix<float> expected(rows, 5);
      Workspace<float> workspace;
      unit.forward(x, sequences, bias, expected, workspace, mask);
      const auto with_bias = [&](auto& tape, const auto& layer, Variable input) {
        return record(tape, layer, input, sequences, bias, mask);
      };
      EXPECT_TRUE(test::same_bits(test::step_of(unit, x, with_bias).output, expected));
    }
  });
}

TEST(TrainGatedAttentionUnit, BitsDoNotDependOnThreads) {
  auto config = small();
  config.channels = 24;
  config.value = 40;
  config.query_key = 16;
  config.max_length = 300;
  const Sequences longer = Sequences::of_lengths({300, 170});
  const auto x = random_matrix<float>(470, 24, 4);
  const TapeOptions options{.attention_dropout = 0.1, .residual_dropout = 0.1};
  const auto longer_run = [&](auto& tape, const auto& unit, Variable input) { return record(tape, unit, input, longer); };
  for (const ScoreKernel kernel : {ScoreKernel::relu2, ScoreKernel::softmax}) {
    config.kernel = kernel;
    const auto unit = shaken<float>(config);
    test::expect_same_bits(test::step_of(unit, x, longer_run, 3, options), test::step_of(unit, x, longer_run, 1, options));
  }
}

TEST(TrainGatedAttentionUnit, AWarmStepAllocatesNothing) {
  const auto unit = shaken(small());
  auto gradient = zeros_like(unit);
  const auto x = random_matrix<double>(rows, 5, 4), cotangent = random_matrix<double>(rows, 5, 5);
  const auto mask = some_mask();
  Tape<double> tape(Threads{2}, {.attention_dropout = 0.1, .residual_dropout = 0.1});
  Random random(1);
  const auto step = [&] {
    tape.begin(unit, gradient, random);
    tape.backward(record(tape, unit, tape.input(x), sequences, mask), cotangent);
  };
  step();
  step();  // begins with memory in one piece
  EXPECT_EQ(test::allocations_during(step), 0);
}

TEST(TrainGatedAttentionUnit, RefusesWhatTheForwardRefuses) {
  auto config = small();
  config.relative_bias = RelativeBiasForm::toeplitz;
  const auto unit = shaken(config);
  auto gradient = zeros_like(unit);
  Tape<double> tape;
  tape.begin(unit, gradient);
  const auto good = random_matrix<double>(rows, 5, 1), narrow = random_matrix<double>(rows, 4, 1),
             low = random_matrix<double>(6, 9, 1);
  const std::vector<std::uint8_t> short_mask(4, 1), empty_mask(13, 0);
  EXPECT_THROW(record(tape, unit, tape.input(narrow), sequences), ShapeError);
  EXPECT_THROW(record(tape, unit, tape.input(good), Sequences::single(12)), ShapeError);
  EXPECT_THROW(record(tape, unit, tape.input(good), Sequences::single(13)), ShapeError) << "past the Toeplitz bias";
  EXPECT_THROW(record(tape, unit, tape.input(good), sequences, short_mask), ShapeError);
  EXPECT_THROW(record(tape, unit, tape.input(good), sequences, empty_mask), ShapeError);
  EXPECT_THROW(record(tape, unit, tape.input(good), sequences, low), ShapeError);
}

}  // namespace
}  // namespace gated
