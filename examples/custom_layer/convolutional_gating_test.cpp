#include "convolutional_gating.hpp"

#include <gtest/gtest.h>

#include "espnet.hpp"
#include "tests/core/allocations.hpp"
#include "tests/io/files.hpp"
#include "tests/train/gradients.hpp"
#include "train_convolutional_gating.hpp"

namespace speech {
namespace {

using gated::test::random_matrix, gated::test::same_bits;

const gated::SafetensorsFile& reference() {
  static const gated::SafetensorsFile file(CUSTOM_LAYER_DIR "/reference.safetensors");
  return file;
}

const Sequences lengths = Sequences::of_lengths({50, 7, 1});  // of the reference

template <class T>
Matrix<T> stored(const std::string& name) {
  const auto& shape = reference().tensor(name).shape;
  Matrix<T> x(static_cast<Index>(shape[0]), static_cast<Index>(shape[1]));
  reference().read<T>(name, {x.data(), static_cast<std::size_t>(x.size())});
  return x;
}

template <class T>
ConvolutionalGatingMlp<T> reference_model(const std::string& prefix = "model.") {
  ConvolutionalGatingMlp<T> model(gated::from_json<ConvolutionalGatingConfig>(reference().metadata().at("config")));
  gated::NameMap names = espnet_names();
  names.prefix = prefix;
  names.ignored = prefix == "model." ? std::vector<std::string>{"grad"} : std::vector<std::string>{"model", "grad.x"};
  for (const char* const name : {"x", "y", "cotangent"}) {
    names.ignored.emplace_back(name);
  }
  load_parameters(model, reference(), names);
  return model;
}

ConvolutionalGatingMlp<float> small_model(Index kernel = 7) {
  ConvolutionalGatingMlp<float> model({.channels = 18, .hidden = 52, .kernel = kernel});
  gated::test::shake(model, 1);
  return model;
}

template <class T>
double largest(const Matrix<T>& x) {
  return static_cast<double>(x.cwiseAbs().maxCoeff());
}

TEST(ConvolutionalGating, GivesTheNumbersOfPyTorch) {
  Workspace<double> workspace;
  const auto y = reference_model<double>().forward(stored<double>("x"), lengths, workspace);
  EXPECT_LT(largest<double>(y - stored<double>("y")), 1e-13 * largest(y));
  Workspace<float> narrow;
  const auto in_float = reference_model<float>().forward(stored<float>("x"), lengths, narrow);
  EXPECT_LT(largest<float>(in_float - stored<float>("y")), 2e-6 * largest(y));
}

TEST(ConvolutionalGating, GivesTheGradientsOfPyTorch) {
  const auto model = reference_model<double>();
  const Matrix<double> x = stored<double>("x"), cotangent = stored<double>("cotangent"), expected = stored<double>("grad.x");
  auto gradient = gated::zeros_like(model);
  Tape<double> tape;
  tape.begin(model, gradient);
  const Variable input = tape.input(x);
  tape.backward(record(tape, model, input, lengths), cotangent);
  EXPECT_LT(largest<double>(tape.gradient(input) - expected), 1e-12 * largest(expected));
  auto theirs = reference_model<double>("grad.model.");
  gated::for_each_parameter(
      [](const gated::ParameterInfo& info, auto got, auto wanted) {
        const Eigen::Map<const Eigen::ArrayXd> a(got.data(), std::ssize(got)), b(wanted.data(), std::ssize(wanted));
        EXPECT_LT((a - b).abs().maxCoeff(), 1e-12 * b.abs().maxCoeff()) << info.path();
      },
      gradient, theirs);
}

TEST(ConvolutionalGating, GradientsEqualCentralDifferences) {
  for (const auto activation : {gated::Activation::identity, gated::Activation::tanh}) {
    ConvolutionalGatingMlp<double> model({.channels = 5, .hidden = 12, .kernel = 5, .gate_activation = activation});
    gated::test::shake(model, 3);
    const auto sequences = Sequences::of_lengths({9, 0, 2, 1});
    gated::test::expect_gradients(
        model, random_matrix<double>(12, 5, 4),
        [&](Tape<double>& tape, const ConvolutionalGatingMlp<double>& m, Variable x) { return record(tape, m, x, sequences); });
  }
}

TEST(ConvolutionalGating, TrainingComputesTheBitsOfTheForward) {
  const auto model = small_model();
  const auto x = random_matrix<float>(58, 18, 2);
  Workspace<float> workspace;
  auto gradient = gated::zeros_like(model);
  Tape<float> tape;
  tape.begin(model, gradient);
  EXPECT_TRUE(
      same_bits(Matrix<float>(tape[record(tape, model, tape.input(x), lengths)]), model.forward(x, lengths, workspace)));
}

TEST(ConvolutionalGating, ASequenceInABatchIsTheSequenceAlone) {
  const auto model = small_model(31);
  const auto x = random_matrix<float>(58, 18, 2);
  Workspace<float> workspace;
  const auto all = model.forward(x, lengths, workspace);
  for (Index b = 0; b < lengths.count(); ++b) {
    const Matrix<float> part = x.middleRows(lengths.offset(b), lengths.length(b));
    const auto alone = model.forward(part, Sequences::single(part.rows()), workspace);
    EXPECT_TRUE(same_bits(alone, Matrix<float>(all.middleRows(lengths.offset(b), lengths.length(b))))) << b;
  }
}

TEST(ConvolutionalGating, EqualBitsForAnyNumberOfThreads) {
  const auto model = small_model();
  const auto sequences = Sequences::of_lengths({300, 5, 200});
  const auto x = random_matrix<float>(505, 18, 2), cotangent = random_matrix<float>(505, 18, 3);
  const auto run = [&](int threads) {
    auto gradient = gated::zeros_like(model);
    Tape<float> tape(gated::Threads{threads});
    tape.begin(model, gradient);
    const Variable input = tape.input(x), y = record(tape, model, input, sequences);
    tape.backward(y, cotangent);
    return std::tuple{Matrix<float>(tape[y]), Matrix<float>(tape.gradient(input)), gradient.csgu.weight};
  };
  const auto [y, dx, dw] = run(1);
  for (const int threads : {2, 3}) {
    const auto [y2, dx2, dw2] = run(threads);
    EXPECT_TRUE(same_bits(y, y2) && same_bits(dx, dx2) && same_bits(dw, dw2)) << threads;
  }
}

TEST(ConvolutionalGating, AllocatesNothingWhenWarm) {
  const auto model = small_model();
  const auto x = random_matrix<float>(58, 18, 2), cotangent = random_matrix<float>(58, 18, 3);
  Matrix<float> y(58, 18);
  Workspace<float> workspace;
  const auto forward = [&] { model.forward(x, lengths, y, workspace); };
  forward();
  EXPECT_EQ(gated::test::allocations_during(forward), 0);

  auto gradient = gated::zeros_like(model);
  Tape<float> tape;
  const auto step = [&] {
    tape.begin(model, gradient);
    tape.backward(record(tape, model, tape.input(x), lengths), cotangent);
  };
  step();
  step();
  EXPECT_EQ(gated::test::allocations_during(step), 0);
}

TEST(ConvolutionalGating, StartsByPassingItsInputOn) {
  gated::Random random(1);
  ConvolutionalGatingUnit<double> unit(12, 31, gated::Activation::identity, 1e-5);
  unit.initialize(random);
  const auto x = random_matrix<double>(9, 12, 2);
  Matrix<double> y(9, 6);
  Workspace<double> workspace;
  unit.forward(x, Sequences::single(9), y, workspace);
  EXPECT_LT(largest<double>(y - x.leftCols(6)), 1e-4);
}

TEST(ConvolutionalGating, IsSavedAndLoadedWithItsConfiguration) {
  const auto model = small_model();
  const auto path = gated::test::temporary("cgmlp.safetensors");
  gated::save_model(model, path);
  const auto loaded = gated::load_model<ConvolutionalGatingMlp<float>>(path);
  const auto x = random_matrix<float>(58, 18, 2);
  Workspace<float> workspace;
  EXPECT_TRUE(same_bits(loaded.forward(x, lengths, workspace), model.forward(x, lengths, workspace)));
  EXPECT_EQ(gated::SafetensorsFile(path).tensor("csgu.conv.weight").shape.size(), 3U);
}

TEST(ConvolutionalGating, RefusesWhatMakesNoSense) {
  using gated::test::expect_error;
  using Model = ConvolutionalGatingMlp<float>;
  expect_error<gated::ArgumentError>([] { Model({.channels = 4, .hidden = 7}); }, {"hidden = 7", "even"});
  expect_error<gated::ArgumentError>([] { Model({.channels = 4, .hidden = 8, .kernel = 6}); }, {"kernel = 6", "odd"});
  const auto model = small_model();
  Workspace<float> workspace;
  expect_error<gated::ShapeError>([&] { model.forward(random_matrix<float>(3, 17, 1), Sequences::single(3), workspace); },
                                  {"Linear::forward: x has 17 columns"});
  expect_error<gated::ShapeError>([&] { model.forward(random_matrix<float>(3, 18, 1), Sequences::single(4), workspace); },
                                  {"ConvolutionalGatingMlp::forward: x has 3 rows"});
}

}  // namespace
}  // namespace speech
