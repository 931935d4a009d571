#include "gated/train/gmlp.hpp"

#include "tests/models/gmlps.hpp"
#include "tests/train/gradients.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::random_matrix;

const Sequences sequences = Sequences::of_lengths({6, 4});

GmlpConfig config_of(bool causal, Index attention, Index token_shift) {
  return {.length = 6,
          .channels = 7,
          .hidden = 8,
          .depth = 2,
          .length_policy = LengthPolicy::slice,
          .causal = causal,
          .heads = 2,
          .attention = attention,
          .token_shift = token_shift};
}

template <class T>
Gmlp<T> shaken(const GmlpConfig& config) {
  Gmlp<T> model(config);
  test::shake(model, 5);
  return model;
}

const auto record_gmlp = [](Tape<double>& tape, const Gmlp<double>& model, Variable x) {
  return record(tape, model, x, sequences);
};

TEST(TrainGmlp, GradientsOfEveryOption) {
  for (const bool causal : {false, true}) {
    for (GmlpConfig config : test::small_gmlps(causal)) {
      SCOPED_TRACE(test::describe(config));
      config.length_policy = LengthPolicy::slice;
      const Sequences ragged = Sequences::of_lengths({test::small_length, 5});
      expect_gradients(
          shaken<double>(config), random_matrix<double>(ragged.total(), test::small_channels, 6),
          [&](Tape<double>& tape, const Gmlp<double>& model, Variable x) { return record(tape, model, x, ragged); });
    }
  }
}

TEST(TrainGmlp, GradientsWithAttentionTokenShiftAndBiases) {
  for (const bool causal : {false, true}) {
    for (const auto position : {NormPosition::pre, NormPosition::post}) {
      SCOPED_TRACE(testing::Message() << "causal " << causal << ", norm " << name_of(position));
      auto config = config_of(causal, 3, 2);
      config.attention_bias = true;
      config.norm_position = position;
      expect_gradients(shaken<double>(config), random_matrix<double>(10, 7, 6), record_gmlp);
    }
  }
}

TEST(TrainGmlp, GradientsOfEveryActivation) {
  for (const auto& [activation, name] : names_of(Activation{})) {
    SCOPED_TRACE(name);
    auto config = config_of(true, 0, 0);
    config.depth = 1;
    config.activation = activation;
    config.gate_activation = activation;
    expect_gradients(shaken<double>(config), random_matrix<double>(10, 7, 6), record_gmlp);
  }
}

TEST(TrainGmlp, GradientsOfABranchAlone) {
  const GmlpBlock<double> block = shaken<double>(config_of(true, 3, 1)).blocks[0];
  expect_gradients(block, random_matrix<double>(10, 7, 6), [](Tape<double>& tape, const GmlpBlock<double>& layer, Variable x) {
    return record_branch(tape, layer, x, sequences);
  });
}

/// What a step leaves behind.
template <class T>
struct Step {
  Matrix<T> output, input_gradient;
  Gmlp<T> gradient;
};

template <class T>
Step<T> step(const Gmlp<T>& model, Threads threads = {}, const TapeOptions& options = {}) {
  const Matrix<T> x = random_matrix<T>(10, 7, 6), cotangent = random_matrix<T>(10, 7, 7);
  Step<T> result{{}, {}, zeros_like(model)};
  Tape<T> tape(threads, options);
  tape.begin(model, result.gradient);
  const Variable input = tape.input(x), y = record(tape, model, input, sequences);
  tape.backward(y, cotangent);
  result.output = tape[y];
  result.input_gradient = tape.gradient(input);
  return result;
}

template <class T>
void expect_same(const Step<T>& a, const Step<T>& b) {
  EXPECT_TRUE(test::same_bits(a.output, b.output));
  EXPECT_TRUE(test::same_bits(a.input_gradient, b.input_gradient));
  for_each_parameter([](const ParameterInfo& info, auto x,
                        auto y) { EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << info.path(); },
                     a.gradient, b.gradient);
}

TEST(TrainGmlp, ForwardIsTheInferenceForward) {
  for (const bool causal : {false, true}) {
    for (const GmlpConfig& config : test::small_gmlps(causal)) {
      SCOPED_TRACE(test::describe(config));
      const auto model = shaken<float>(config);
      const Sequences two = Sequences::uniform(2, test::small_length);
      const Matrix<float> x = random_matrix<float>(two.total(), test::small_channels, 6);
      Workspace<float> workspace;
      auto gradient = zeros_like(model);
      Tape<float> tape;
      tape.begin(model, gradient);
      EXPECT_TRUE(
          test::same_bits(Matrix<float>(tape[record(tape, model, tape.input(x), two)]), model.forward(x, two, workspace)));
    }
  }
}

TEST(TrainGmlp, RecomputingGivesTheSameBits) {
  const auto model = shaken<float>(config_of(true, 3, 1));
  expect_same(step(model), step(model, {}, {.recompute = true}));
}

TEST(TrainGmlp, RecomputingKeepsTwoMatricesABlock) {
  // Ten blocks more cost ten outputs and their gradients, and not ten times the activations of a block.
  const Sequences long_one = Sequences::single(200);
  const auto bytes = [&](Index depth, bool recompute) {
    GmlpConfig config{.length = 200, .channels = 16, .hidden = 96, .depth = depth};
    const Gmlp<float> model(config);
    auto gradient = zeros_like(model);
    Tape<float> tape({}, {.recompute = recompute});
    const Matrix<float> x = random_matrix<float>(200, 16, 1);
    for (int i = 0; i < 2; ++i) {
      tape.begin(model, gradient);
      tape.backward(record(tape, model, tape.input(x), long_one), x);
    }
    return static_cast<double>(tape.bytes()) / (200 * 16 * sizeof(float));
  };
  EXPECT_NEAR(bytes(12, true) - bytes(2, true), 20, 1.0);
  const double kept_a_block = (bytes(12, false) - bytes(2, false)) / 10;
  EXPECT_NEAR(kept_a_block, 1 + 6 + 6 + 3 + 3 + 3 + 1 + 2, 0.5);  // norm, z, σ(z), norm, gate, product, branch, sum
  EXPECT_NEAR(bytes(12, false), 6 * bytes(2, false), 0.7 * bytes(12, false));
}

TEST(TrainGmlp, EqualBitsForAnyThreadCount) {
  GmlpConfig config{.length = 300, .channels = 64, .hidden = 256, .depth = 1, .causal = true};
  const auto model = shaken<float>(config);
  const Sequences split = Sequences::of_lengths({300, 180});
  const Matrix<float> x = random_matrix<float>(480, 64, 6), cotangent = random_matrix<float>(480, 64, 7);
  std::vector<Gmlp<float>> gradients;
  for (const int threads : {1, 2, 3}) {
    gradients.push_back(zeros_like(model));
    Tape<float> tape(Threads{threads});
    tape.begin(model, gradients.back());
    tape.backward(record(tape, model, tape.input(x), split), cotangent);
  }
  for (const int i : {1, 2}) {
    for_each_parameter([](const ParameterInfo& info, auto a,
                          auto b) { EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << info.path(); },
                       gradients[0], gradients[static_cast<std::size_t>(i)]);
  }
}

TEST(TrainGmlp, GradientsAddUp) {
  const auto model = shaken<double>(config_of(true, 3, 0));
  const Matrix<double> x = random_matrix<double>(10, 7, 6), cotangent = random_matrix<double>(10, 7, 7);
  auto once = zeros_like(model), twice = zeros_like(model);
  Tape<double> tape;
  for (int i = 0; i < 3; ++i) {
    auto& gradient = i == 0 ? once : twice;
    tape.begin(model, gradient);
    tape.backward(record(tape, model, tape.input(x), sequences), cotangent);
  }
  for_each_parameter(
      [](const ParameterInfo& info, auto a, auto b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          EXPECT_NEAR(2 * a[i], b[i], 1e-12) << info.path();
        }
      },
      once, twice);
}

TEST(TrainGmlp, ActivationsHaveTheNamesOfTheirLayers) {
  const auto model = shaken<float>(config_of(true, 3, 1));
  const Matrix<float> x = random_matrix<float>(10, 7, 6);
  std::vector<std::pair<std::string, Matrix<float>>> shown;
  Workspace<float> workspace;
  workspace.observe([&](const std::string& path, ConstView<float> values) { shown.emplace_back(path, values); });
  model.forward(x, sequences, workspace);

  auto gradient = zeros_like(model);
  Tape<float> tape;
  tape.begin(model, gradient);
  record(tape, model, tape.input(x), sequences);
  for (const char* path :
       {"blocks.0.norm", "blocks.1.proj_in", "blocks.1.attention.proj_out", "blocks.0.gate.proj", "blocks.1"}) {
    SCOPED_TRACE(path);
    Matrix<float> kept;
    tape.for_each_activation([&](const std::string& at, ConstView<float> values) {
      if (at == path) {
        kept = values;
      }
    });
    const auto theirs = std::find_if(shown.begin(), shown.end(), [&](const auto& entry) { return entry.first == path; });
    ASSERT_NE(theirs, shown.end());
    EXPECT_TRUE(test::same_bits(kept, theirs->second));
  }
}

}  // namespace
}  // namespace gated
