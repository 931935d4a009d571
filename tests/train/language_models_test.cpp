#include <map>

#include "gated/models/gau_presets.hpp"
#include "gated/train/flash_language_model.hpp"
#include "gated/train/gau_encoder.hpp"
#include "tests/core/allocations.hpp"
#include "tests/train/steps.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::for_each_value;
using test::random_matrix;

const Sequences sequences = Sequences::of_lengths({7, 0, 1, 5});
const std::vector<Index> tokens{3, 1, 0, 5, 0, 2, 4, 1, 1, 5, 0, 3, 0};
const std::vector<Index> types{0, 1, 1, 0, 2, 2, 0, 1, 0, 0, 2, 1, 1};
const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1};
const Matrix<double> no_input(13, 0);

FlashLanguageModelConfig flash(bool causal = true) {
  return {.vocabulary = 6,
          .max_length = 9,
          .trunk = {.depth = 2,
                    .layer = {.channels = 6,
                              .value = 5,
                              .query_key = 4,
                              .chunk = 3,
                              .rotary = Rotary::interleaved,
                              .token_shift = true,
                              .causal = causal}}};
}

GauEncoderConfig encoder() {
  return {.vocabulary = 6,
          .token_types = 3,
          .position = PositionForm::sinusoid_table,
          .max_length = 9,
          .embedding_norm = NormForm::layer_norm,
          .pad_token = 0,
          .depth = 2,
          .layer = {.channels = 6,
                    .value = 5,
                    .query_key = 4,
                    .max_length = 9,
                    .relative_bias = RelativeBiasForm::toeplitz,
                    .rotary = Rotary::half},
          .with_head = true,
          .head = {.dense = true}};
}

template <class Model>
Model shaken(const typename Model::Config& config) {
  Model model(config);
  test::shake(model, 3);
  return model;
}

const auto run = [](auto& tape, const auto& model, Variable) { return record(tape, model, tokens, sequences); };
const auto run_masked = [](auto& tape, const auto& model, Variable) { return record(tape, model, tokens, sequences, mask); };
const auto run_typed = [](auto& tape, const auto& model, Variable) {
  return record(tape, model, tokens, sequences, Mask(), types);
};

template <class Model, class Run>
void expect_model_gradients(const typename Model::Config& config, const Run& record_model, const TapeOptions& options = {}) {
  expect_gradients(shaken<Model>(config), no_input, record_model, 1e-6, options, 5);
}

using Flash64 = FlashLanguageModel<double>;
using Gau64 = GauEncoder<double>;

TEST(TrainFlashLanguageModel, GradientsOfEveryHead) {
  const auto expect = [](const LanguageModelHeadConfig& head) {
    auto config = flash();
    config.head = head;
    expect_model_gradients<Flash64>(config, run);
  };
  for (const bool tied : {false, true}) {
    for (const bool bias : {false, true}) {
      for (const bool dense : {false, true}) {
        expect({.dense = dense, .tied = tied, .bias = bias});
      }
    }
  }
  for_each_value(LanguageModelHeadConfig{}, &LanguageModelHeadConfig::norm, expect);
  for_each_value(LanguageModelHeadConfig{.dense = true}, &LanguageModelHeadConfig::activation, expect);
  auto config = flash();
  config.with_head = false;
  expect_model_gradients<Flash64>(config, run);
}

TEST(TrainFlashLanguageModel, GradientsOfEveryPositionWithMasksAndDropout) {
  for (const bool causal : {false, true}) {
    for_each_value(flash(causal), &FlashLanguageModelConfig::position, [](const FlashLanguageModelConfig& config) {
      expect_model_gradients<Flash64>(config, run_masked);
      expect_model_gradients<Flash64>(config, run_masked,
                                      {.attention_dropout = 0.2, .embedding_dropout = 0.3, .residual_dropout = 0.2});
    });
  }
}

TEST(TrainGauEncoder, GradientsOfEveryPart) {
  for_each_value(encoder(), &GauEncoderConfig::position,
                 [](const GauEncoderConfig& config) { expect_model_gradients<Gau64>(config, run_typed); });
  for_each_value(encoder(), &GauEncoderConfig::embedding_norm,
                 [](const GauEncoderConfig& config) { expect_model_gradients<Gau64>(config, run_masked); });
  auto config = encoder();
  config.with_head = false;
  config.token_types = 0;
  config.pad_token = -1;
  expect_model_gradients<Gau64>(config, run);
}

TEST(TrainGauEncoder, GradientsWithDropout) {
  expect_model_gradients<Gau64>(encoder(), run_typed,
                                {.attention_dropout = 0.2, .embedding_dropout = 0.3, .residual_dropout = 0.2});
}

/// The activations of inference by path, as an observer sees them: the last of those that share a path.
template <class Model, class Forward>
std::map<std::string, Matrix<float>> shown(const Model& model, const Forward& forward) {
  std::map<std::string, Matrix<float>> result;
  Workspace<float> workspace;
  workspace.observe([&](const std::string& path, ConstView<float> output) { result[path] = output; });
  result[""] = forward(model, workspace);
  return result;
}

/// The outputs of every layer that inference shows are on the tape under the same path, with the same bits.
template <class Model, class Run, class Forward>
void expect_inference(const Model& model, const Run& record_model, const Forward& forward) {
  const auto expected = shown(model, forward);
  Tape<float> tape;
  Model gradient = zeros_like(model);
  tape.begin(model, gradient);
  const Variable output = record_model(tape, model, Variable{});
  EXPECT_TRUE(test::same_bits(Matrix<float>(tape[output]), expected.at("")));
  std::map<std::string, Matrix<float>> found;
  tape.for_each_activation([&](const std::string& path, ConstView<float> values) { found[path] = values; });
  for (const auto& [path, values] : expected) {
    if (!path.empty() && path.find("weights.") == std::string::npos && path != "trunk") {
      ASSERT_TRUE(found.contains(path)) << path;
      EXPECT_TRUE(test::same_bits(found.at(path), values)) << path;
    }
  }
}

TEST(TrainLanguageModels, ForwardIsTheInferenceForwardLayerByLayer) {
  const auto forward = [](const auto& model, auto& workspace) { return model.forward(tokens, sequences, workspace, mask); };
  expect_inference(shaken<FlashLanguageModel<float>>(flash()), run_masked, forward);
  expect_inference(shaken<GauEncoder<float>>(encoder()), run_masked, forward);
  const auto padded = [](const auto& model, auto& workspace) {
    return model.forward(tokens, sequences, workspace, Mask(), types);
  };
  expect_inference(shaken<GauEncoder<float>>(encoder()), run_typed, padded);
}

template <class Model, class Run>
void expect_same_steps(const Model& model, const Run& record_model) {
  for (const double rate : {0.0, 0.2}) {
    TapeOptions options{.attention_dropout = rate, .embedding_dropout = rate, .residual_dropout = rate};
    const Matrix<float> nothing(13, 0);
    const auto kept = test::step_of(model, nothing, record_model, 1, options);
    test::expect_same_bits(test::step_of(model, nothing, record_model, 3, options), kept);
    options.recompute = true;
    test::expect_same_bits(test::step_of(model, nothing, record_model, 1, options), kept);
  }
}

TEST(TrainLanguageModels, BitsDoNotDependOnThreadsNorOnWhatIsKept) {
  expect_same_steps(shaken<FlashLanguageModel<float>>(flash()), run_masked);
  expect_same_steps(shaken<GauEncoder<float>>(encoder()), run_typed);
}

template <class Model, class Run>
void expect_every_dropout(const Model& model, const Run& record_model) {
  const Matrix<double> nothing(13, 0);
  const auto plain = test::step_of(model, nothing, record_model);
  for (const auto rate : {&TapeOptions::attention_dropout, &TapeOptions::embedding_dropout, &TapeOptions::residual_dropout}) {
    TapeOptions options;
    options.*rate = 0.3;
    const auto dropped = test::step_of(model, nothing, record_model, 1, options);
    EXPECT_GT((dropped.output - plain.output).cwiseAbs().maxCoeff(), 1e-3);
    EXPECT_TRUE(test::same_bits(test::step_of(model, nothing, record_model, 1, options, {}).output, plain.output));
  }
}

TEST(TrainLanguageModels, EveryKindOfDropoutActsInAStepWithNoiseAlone) {
  expect_every_dropout(shaken<Flash64>(flash()), run_masked);
  expect_every_dropout(shaken<Gau64>(encoder()), run_typed);
}

template <class Model, class Run>
void expect_no_allocations(const Model& model, const Run& record_model) {
  auto gradient = zeros_like(model);
  const auto cotangent = random_matrix<double>(13, model.out(), 5);
  for (const bool recompute : {false, true}) {
    Tape<double> tape(Threads{2}, {.recompute = recompute, .attention_dropout = 0.1});
    Random random(1);
    const auto step = [&] {
      tape.begin(model, gradient, random);
      tape.backward(record_model(tape, model, Variable{}), cotangent);
    };
    step();
    step();  // begins with memory in one piece
    EXPECT_EQ(test::allocations_during(step), 0) << recompute;
  }
}

TEST(TrainLanguageModels, AWarmStepAllocatesNothing) {
  expect_no_allocations(shaken<Flash64>(flash()), run_masked);
  expect_no_allocations(shaken<Gau64>(encoder()), run_typed);
}

TEST(TrainLanguageModels, RefuseWhatTheForwardRefuses) {
  const auto model = shaken<Flash64>(flash());
  auto gradient = zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  const std::vector<Index> unknown(13, 6);
  const std::vector<std::uint8_t> short_mask(4, 1);
  EXPECT_THROW(record(tape, model, tokens, Sequences::single(12)), ShapeError);
  EXPECT_THROW(record(tape, model, unknown, sequences), ArgumentError);
  EXPECT_THROW(record(tape, model, tokens, sequences, short_mask), ShapeError);

  const auto other = shaken<Gau64>(encoder());
  auto other_gradient = zeros_like(other);
  tape.begin(other, other_gradient);
  EXPECT_THROW(record(tape, other, tokens, Sequences::single(13)), ShapeError) << "past the position table";
  EXPECT_THROW(record(tape, other, unknown, sequences), ArgumentError);
  EXPECT_THROW(record(tape, other, tokens, sequences, Mask(), unknown), ArgumentError);
  EXPECT_THROW(record(tape, other, tokens, sequences, Mask(), Tokens(types).first(4)), ShapeError);
}

}  // namespace
}  // namespace gated
