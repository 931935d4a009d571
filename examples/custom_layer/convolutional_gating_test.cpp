#include "convolutional_gating.hpp"

#include "espnet.hpp"
#include "tests/promises.hpp"

namespace speech {
namespace {

using gated::Tape, gated::Variable;
using gated::test::random_matrix;

/// The layer as a model: it trains, is saved and, if causal, streams.
TEST(ConvolutionalGating, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    gated::test::expect_promises<ConvolutionalGatingMlp>({.channels = 6, .hidden = 20, .kernel = 5, .causal = causal},
                                                         {.causal = causal, .rewinds = false});
    gated::test::expect_promises<ConvolutionalGatingMlp>({.channels = 12, .hidden = 12, .kernel = 3, .causal = causal},
                                                         {.causal = causal, .rewinds = false, .trains = false});
    gated::test::expect_promises<ConvolutionalGatingMlp>(
        {.channels = 18, .hidden = 52, .kernel = 31, .causal = causal, .gate_activation = gated::Activation::tanh},
        {.lengths = {50, 7, 0, 130, 1}, .causal = causal, .rewinds = false, .trains = false});
  }
}

/// The gating unit alone, with a kernel of even length.
TEST(ConvolutionalGating, KeepsItsPromisesInAGate) {
  gated::test::expect_promises<ConvolutionalGatingUnit>({.hidden = 12, .kernel = 4, .causal = true},
                                                        {.causal = true, .rewinds = false});
}

// --- The numbers of PyTorch, in reference.safetensors ---

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

/// The formula, term by term.
TEST(ConvolutionalGating, ConvolvesAroundOrBeforeEachToken) {
  for (const bool causal : {false, true}) {
    DepthwiseConvolution<double> conv(3, 5, causal);
    gated::test::shake(conv, 1);
    const auto x = random_matrix<double>(58, 3, 2);
    Matrix<double> expected(58, 3);
    for (Index b = 0; b < lengths.count(); ++b) {
      for (Index t = 0; t < lengths.length(b); ++t) {
        for (Index c = 0; c < 3; ++c) {
          double sum = conv.bias[c];
          for (Index k = 0; k < 5; ++k) {
            const Index from = t + k - (causal ? 4 : 2);
            sum += from < 0 || from >= lengths.length(b) ? 0.0 : conv.weight(c, k) * x(lengths.offset(b) + from, c);
          }
          expected(lengths.offset(b) + t, c) = sum;
        }
      }
    }
    EXPECT_LT(largest<double>(conv.forward(x, lengths) - expected), 1e-14 * largest(expected)) << causal;
  }
}

// --- Properties of this layer ---

TEST(ConvolutionalGating, StartsByPassingItsInputOn) {
  gated::Random random(1);
  ConvolutionalGatingUnit<double> unit({.hidden = 12});
  unit.initialize(random);
  const auto x = random_matrix<double>(9, 12, 2);
  Workspace<double> workspace;
  EXPECT_LT(largest<double>(unit.forward(x, Sequences::single(9), workspace) - x.leftCols(6)), 1e-4);
}

TEST(ConvolutionalGating, StreamsForEverInAStateOfOneKernel) {
  const ConvolutionalGatingMlp<float> model({.channels = 6, .hidden = 20, .kernel = 5, .causal = true});
  auto state = model.start();
  EXPECT_EQ(state.capacity(), gated::State<float>::unlimited);
  EXPECT_EQ(state.bytes(), 4 * 10 * sizeof(float));
}

TEST(ConvolutionalGating, IsSavedAsConv1dStoresIt) {
  const ConvolutionalGatingMlp<float> model({.channels = 6, .hidden = 20, .kernel = 5});
  const auto path = gated::test::temporary("cgmlp.safetensors");
  save_model(model, path);
  EXPECT_EQ(gated::SafetensorsFile(path).tensor("csgu.conv.weight").shape.size(), 3U);
}

TEST(ConvolutionalGating, RefusesWhatMakesNoSense) {
  using gated::test::expect_error;
  using Model = ConvolutionalGatingMlp<float>;
  expect_error<gated::ArgumentError>([] { Model({.channels = 4, .hidden = 7}); }, {"hidden = 7", "even"});
  expect_error<gated::ArgumentError>([] { Model({.channels = 4, .hidden = 8, .kernel = 6}); }, {"kernel = 6", "odd"});
  expect_error<gated::ArgumentError>([] { Model({.channels = 4, .hidden = 8, .kernel = 0, .causal = true}); }, {"kernel = 0"});
  EXPECT_NO_THROW(Model({.channels = 4, .hidden = 8, .kernel = 6, .causal = true}));
  expect_error<gated::ArgumentError>([] { Model({.channels = 4, .hidden = 8}).start(); }, {"causal = true"});
}

}  // namespace
}  // namespace speech
