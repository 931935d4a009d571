#include "gated/train/gated_cross_attention.hpp"

#include "tests/train/steps.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::for_each_value;
using test::random_matrix;

using Config = GatedCrossAttentionConfig;
using Layer = GatedCrossAttention<double>;

const Sequences queries = Sequences::of_lengths({4, 1, 0, 6});  // 11 tokens
const Sequences others = Sequences::of_lengths({3, 7, 2, 1});   // 13 tokens
const std::vector<std::uint8_t> mask{1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1};

Config small() { return {.channels = 5, .key_channels = 3, .value_channels = 4, .value = 6, .query_key = 4, .bias = true}; }

template <class T = double>
GatedCrossAttention<T> shaken(const Config& config) {
  GatedCrossAttention<T> layer(config);
  test::shake(layer, 3);
  return layer;
}

/// The gradients in x, with a key and value that are fixed.
void expect_query_gradients(const Config& config, const TapeOptions& options = {}) {
  const auto key = random_matrix<double>(13, 3, 4), value = random_matrix<double>(13, 4, 5);
  const auto run = [&](Tape<double>& tape, const Layer& layer, Variable x) {
    return record(tape, layer, x, queries, tape.constant(key), tape.constant(value), others, mask);
  };
  expect_gradients(shaken(config), random_matrix<double>(11, 5, 6), run, 1e-6, options, 7);
}

/// The gradients in key and value, columns of one input.
void expect_key_value_gradients(const Config& config) {
  const auto x = random_matrix<double>(11, 5, 6);
  const auto run = [&](Tape<double>& tape, const Layer& layer, Variable input) {
    const Variable key = tape.columns(input, 0, 3), value = tape.columns(input, 3, 4);
    return record(tape, layer, tape.constant(x), queries, key, value, others);
  };
  expect_gradients(shaken(config), random_matrix<double>(13, 7, 4), run);
}

TEST(TrainGatedCrossAttention, GradientsOfEveryEnumerationValue) {
  const auto expect = [](const Config& config) {
    expect_query_gradients(config);
    expect_key_value_gradients(config);
  };
  for_each_value(small(), &Config::activation, expect);
  for_each_value(small(), &Config::key_value_activation, expect);
  for_each_value(small(), &Config::norm, expect);
  for_each_value(small(), &Config::kernel, expect);
  for_each_value(small(), &Config::residual, expect);
  auto config = small();
  config.bias = false;
  expect(config);
}

TEST(TrainGatedCrossAttention, GradientsWithDropout) {
  expect_query_gradients(small(), {.attention_dropout = 0.3, .residual_dropout = 0.2});
}

TEST(TrainGatedCrossAttention, SequencesWithoutKeysLearnFromTheirShortcut) {
  const Sequences few = Sequences::of_lengths({3, 0, 2, 1});
  for_each_value(small(), &Config::kernel, [&](const Config& config) {
    const auto key = random_matrix<double>(6, 3, 4), value = random_matrix<double>(6, 4, 5);
    const auto run = [&](Tape<double>& tape, const Layer& layer, Variable x) {
      return record(tape, layer, x, queries, tape.constant(key), tape.constant(value), few);
    };
    expect_gradients(shaken(config), random_matrix<double>(11, 5, 6), run);
  });
}

TEST(TrainGatedCrossAttention, KeyAndValueMayBeOneAndTheSame) {
  auto config = small();
  config.key_channels = config.value_channels = 5;
  expect_gradients(shaken(config), random_matrix<double>(13, 5, 6), [&](Tape<double>& tape, const Layer& layer, Variable x) {
    return record(tape, layer, x, others, x, x, others);
  });
}

TEST(TrainGatedCrossAttention, ForwardIsTheInferenceForward) {
  const auto x = random_matrix<float>(11, 5, 6), key = random_matrix<float>(13, 3, 4), value = random_matrix<float>(13, 4, 5);
  for_each_value(small(), &Config::kernel, [&](const Config& config) {
    const auto layer = shaken<float>(config);
    Matrix<float> expected(11, 5);
    Workspace<float> workspace;
    layer.forward(x, queries, key, value, others, expected, workspace, mask);
    const auto run = [&](auto& tape, const auto& model, Variable input) {
      return record(tape, model, input, queries, tape.constant(key), tape.constant(value), others, mask);
    };
    EXPECT_TRUE(test::same_bits(test::step_of(layer, x, run).output, expected));
  });
}

TEST(TrainGatedCrossAttention, RefusesWhatTheForwardRefuses) {
  const auto layer = shaken(small());
  auto gradient = zeros_like(layer);
  Tape<double> tape;
  tape.begin(layer, gradient);
  const auto x = random_matrix<double>(11, 5, 1), key = random_matrix<double>(13, 3, 1),
             value = random_matrix<double>(13, 4, 1);
  const auto expect_refusal = [&](const Matrix<double>& a, const Sequences& of_a, const Matrix<double>& k,
                                  const Matrix<double>& v, const Sequences& of_k) {
    EXPECT_THROW(record(tape, layer, tape.input(a), of_a, tape.input(k), tape.input(v), of_k), ShapeError);
  };
  expect_refusal(key, queries, key, value, others);
  expect_refusal(x, Sequences::single(12), key, value, others);
  expect_refusal(x, queries, key.topRows(12), value, others);
  expect_refusal(x, queries, key, value.topRows(12), others);
  expect_refusal(x, queries, value, value, others);
  expect_refusal(x, queries, key, value, Sequences::of_lengths({6, 7}));
}

}  // namespace
}  // namespace gated
