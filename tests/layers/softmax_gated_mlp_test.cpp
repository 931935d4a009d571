#include "gated/layers/softmax_gated_mlp.hpp"

#include "gated/layers/mixer_block.hpp"
#include "literal_attention.hpp"
#include "tests/promises.hpp"

// Tests of SoftmaxGatedFeedForward, which mixes channels, and SoftmaxGatedTokenMlp, which mixes tokens.

namespace gated::softmax_gated_mlp_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;

constexpr GatePlace places[]{GatePlace::none, GatePlace::before, GatePlace::after};

TEST(SoftmaxGatedFeedForward, KeepsItsPromises) {
  for (const GatePlace gate : places) {
    for (const Index channels : {1, 5, 21}) {
      test::expect_promises<SoftmaxGatedFeedForward>({.channels = channels, .hidden = 9, .gate = gate}, {.lengths = {7, 3}});
    }
  }
  test::expect_promises<SoftmaxGatedFeedForward>({.channels = 6, .dropout = 0.3}, {.lengths = {7, 3}});
}

TEST(SoftmaxGatedTokenMlp, KeepsItsPromises) {
  for (const GatePlace gate : places) {
    for (const Index length : {1, 9, 21}) {
      test::expect_promises<SoftmaxGatedTokenMlp>({.channels = 5, .length = length, .hidden = 4, .gate = gate},
                                                  {.lengths = {length, length}});
    }
  }
  test::expect_promises<SoftmaxGatedTokenMlp>({.channels = 6, .length = 7, .dropout = 0.3}, {.lengths = {7, 7}});
}

/// W h + b for each row of h.
Matrix<double> project(const Matrix<double>& weight, const auto& bias, const Matrix<double>& h) {
  Matrix<double> y = h * weight.transpose();
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      y(i, j) += bias.data()[j];
    }
  }
  return y;
}

/// h ⊙ softmax(W h + b), row by row.
Matrix<double> gate(const auto& layer, const Matrix<double>& h) {
  Matrix<double> s = project(layer.weight, layer.bias, h).array().exp();
  for (Index i = 0; i < s.rows(); ++i) {
    s.row(i) /= s.row(i).sum();
  }
  return h.cwiseProduct(s);
}

/// The formula of both layers. The rows of x are tokens for SoftmaxGatedFeedForward, channels for SoftmaxGatedTokenMlp.
Matrix<double> formula(const auto& layer, Matrix<double> x) {
  if (layer.config.gate == GatePlace::before) {
    x = gate(*layer.gate, x);
  }
  const Matrix<double> hidden =
      literal::activate(Activation::gelu, project(layer.mlp.proj_in.weight, layer.mlp.proj_in.bias, x));
  const Matrix<double> y = project(layer.mlp.proj_out.weight, layer.mlp.proj_out.bias, hidden);
  return layer.config.gate == GatePlace::after ? gate(*layer.gate, y) : y;
}

TEST(SoftmaxGatedFeedForward, EqualsItsFormula) {
  for (const GatePlace place : places) {
    const auto layer = random_layer<SoftmaxGatedFeedForward<double>>({.channels = 5, .hidden = 8, .gate = place});
    const auto x = random_matrix<double>(9, 5, 2);
    Workspace<double> workspace;
    EXPECT_TRUE(near(layer.forward(x, workspace), formula(layer, x))) << name_of(place);
  }
}

TEST(SoftmaxGatedTokenMlp, EqualsItsFormulaOverTokens) {
  for (const GatePlace place : places) {
    const auto layer = random_layer<SoftmaxGatedTokenMlp<double>>({.channels = 5, .length = 9, .hidden = 4, .gate = place});
    const auto x = random_matrix<double>(18, 5, 2);
    Workspace<double> workspace;
    const Matrix<double> y = layer.forward(x, Sequences::uniform(2, 9), workspace);
    for (Index b = 0; b < 2; ++b) {
      const Matrix<double> expected = formula(layer, x.middleRows(9 * b, 9).transpose()).transpose();
      EXPECT_TRUE(near(Matrix<double>(y.middleRows(9 * b, 9)), expected)) << name_of(place) << ", sequence " << b;
    }
  }
}

TEST(SoftmaxGatedFeedForward, AppliesDropoutInTraining) {
  const auto layer = random_layer<SoftmaxGatedFeedForward<double>>({.channels = 40, .gate = GatePlace::none, .dropout = 0.5});
  auto gradient = zeros_like(layer);
  const auto x = random_matrix<double>(30, 40, 2);
  Tape<double> tape;
  Random noise(3);
  tape.begin(layer, gradient, noise);
  const Matrix<double> y = tape[record(tape, layer, tape.input(x))];
  const auto dropped = static_cast<double>((y.array() == 0).count()) / static_cast<double>(y.size());
  EXPECT_NEAR(dropped, 0.5, 0.05);
}

TEST(SoftmaxGatedMlps, WorkInABlock) {
  using Block = MixerBlock<SoftmaxGatedTokenMlp<float>, SoftmaxGatedFeedForward<float>>;
  test::expect_promises(
      [](auto zero) {
        using T = decltype(zero);
        return MixerBlock<SoftmaxGatedTokenMlp<T>, SoftmaxGatedFeedForward<T>>({.channels = 6, .token_mixer = {.length = 7}});
      },
      {.lengths = {7, 7}});
  EXPECT_STREQ(Block::architecture, "gated.MixerBlock<gated.SoftmaxGatedTokenMlp,gated.SoftmaxGatedFeedForward>");
}

TEST(SoftmaxGatedMlps, RefuseInvalidConfigurations) {
  EXPECT_EQ(message_of<ArgumentError>([] { SoftmaxGatedFeedForward<float>({.channels = 0}); }),
            "SoftmaxGatedFeedForward: channels = 0 must be positive, and hidden = 0 must not be negative.");
  EXPECT_EQ(message_of<ArgumentError>([] { SoftmaxGatedFeedForward<float>({.channels = 2, .dropout = 1}); }),
            "SoftmaxGatedFeedForward: dropout = 1, expected 0 ≤ dropout < 1.");
  EXPECT_EQ(message_of<ArgumentError>([] { SoftmaxGatedTokenMlp<float>({.channels = 2, .length = 0}); }),
            "SoftmaxGatedTokenMlp: channels = 2 and length = 0 must be positive, and hidden = 0 must not be negative.");
  EXPECT_EQ(message_of<ArgumentError>([] { SoftmaxGatedTokenMlp<float>({.channels = 2, .length = 3, .dropout = -0.5}); }),
            "SoftmaxGatedTokenMlp: dropout = -0.5, expected 0 ≤ dropout < 1.");
}

}  // namespace
}  // namespace gated::softmax_gated_mlp_test
