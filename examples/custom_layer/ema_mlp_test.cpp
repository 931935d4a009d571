#include "ema_mlp.hpp"

#include <cmath>

#include "tests/promises.hpp"

namespace smoothing {
namespace {

using gated::test::expect_promises, gated::test::random_matrix;

TEST(EmaMlp, KeepsItsPromises) {
  expect_promises<EmaMlp>({.channels = 6, .hidden = 20}, {.causal = true, .rewinds = false});
  expect_promises<EmaMlp>({.channels = 1, .hidden = 4}, {.causal = true, .rewinds = false});
  expect_promises<EmaMlp>({.channels = 18, .hidden = 68},
                          {.lengths = {50, 7, 0, 130, 1}, .causal = true, .rewinds = false, .trains = false});
}

// --- PyTorch's outputs and gradients, in reference.safetensors ---

const Sequences lengths = Sequences::of_lengths({50, 7, 1});

const gated::SafetensorsFile& reference() {
  static const gated::SafetensorsFile file(CUSTOM_LAYER_DIR "/reference.safetensors");
  return file;
}

template <class T>
Matrix<T> stored(const std::string& name) {
  const auto& shape = reference().tensor(name).shape;
  Matrix<T> x(static_cast<Index>(shape[0]), static_cast<Index>(shape[1]));
  reference().read<T>(name, {x.data(), static_cast<std::size_t>(x.size())});
  return x;
}

/// The parameters under `prefix`. The file stores the rows of `rates` under Mega's names.
template <class T>
EmaMlp<T> stored_model(const std::string& prefix = "model.") {
  EmaMlp<T> model(gated::from_json<EmaMlpConfig>(reference().metadata().at("config")));
  load_parameters(model, reference(),
                  {.origin = "reference.py",
                   .prefix = prefix,
                   .rules = {{"proj_in", "proj_in.0"}, {.ours = "rates", .theirs = "alpha", .stacked_with = {"delta"}}},
                   .ignored = {"model", "grad", "x", "dx", "y", "cotangent"}});
  return model;
}

template <class T>
double largest(const Matrix<T>& x) {
  return static_cast<double>(x.cwiseAbs().maxCoeff());
}

TEST(EmaMlp, MatchesPyTorch) {
  const auto y = stored_model<double>().forward(stored<double>("x"), lengths);
  EXPECT_LT(largest<double>(y - stored<double>("y")), 1e-14 * largest(y));
  const auto in_float = stored_model<float>().forward(stored<float>("x"), lengths);
  EXPECT_LT(largest<float>(in_float - stored<float>("y")), 2e-6 * largest(y));
}

TEST(EmaMlp, MatchesPyTorchGradients) {
  const auto model = stored_model<double>(), expected = stored_model<double>("grad.");
  auto gradient = gated::zeros_like(model);
  gated::Tape<double> tape;
  tape.begin(model, gradient);
  const gated::Variable x = tape.input(stored<double>("x"));
  tape.backward(record(tape, model, x, lengths), stored<double>("cotangent"));
  EXPECT_LT(largest<double>(tape.gradient(x) - stored<double>("dx")), 1e-13 * largest(stored<double>("dx")));
  gated::for_each_parameter(
      [](const gated::ParameterInfo& info, auto got, auto wanted) {
        const Eigen::Map<const Eigen::ArrayXd> a(got.data(), std::ssize(got)), b(wanted.data(), std::ssize(wanted));
        EXPECT_LT((a - b).abs().maxCoeff(), 1e-13 * b.abs().maxCoeff()) << info.path();
      },
      gradient, expected);
}

// --- The op and the layer ---

TEST(MovingAverage, MatchesTheFormulaInThePaper) {
  Matrix<double> x = random_matrix<double>(58, 3, 1), expected(58, 3);
  const auto rates = random_matrix<double>(2, 3, 2);
  const auto sigmoid = [](double logit) { return 1 / (1 + std::exp(-logit)); };
  for (Index b = 0; b < lengths.count(); ++b) {
    for (Index c = 0; c < 3; ++c) {
      const double alpha = sigmoid(rates(0, c)), delta = sigmoid(rates(1, c));
      double y = 0;
      for (Index t = lengths.offset(b); t < lengths.offset(b) + lengths.length(b); ++t) {
        expected(t, c) = y = alpha * x(t, c) + (1 - alpha * delta) * y;
      }
    }
  }
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  gated::Batch<double> run(workspace, lengths);
  const Matrix<double> y = run[moving_average(run, gated::RunMatrix<double>(gated::MatrixView<double>(x)), rates)];
  EXPECT_LT(largest<double>(y - expected), 1e-15 * largest(expected));
}

TEST(EmaMlp, StreamsAnyLengthWithAOneRowState) {
  const EmaMlp<float> model({.channels = 6, .hidden = 20});
  const auto state = model.start();
  EXPECT_EQ(state.capacity(), gated::State<float>::unlimited);
  EXPECT_EQ(state.bytes(), 10 * sizeof(float));
}

TEST(EmaMlp, RefusesAnOddHiddenSize) {
  gated::test::expect_error<gated::ArgumentError>([] { EmaMlp<float>({.channels = 4, .hidden = 7}); }, {"hidden = 7", "even"});
}

}  // namespace
}  // namespace smoothing
