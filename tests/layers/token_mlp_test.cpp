#include "gated/layers/token_mlp.hpp"

#include "gated/layers/token_glu.hpp"
#include "literal_attention.hpp"
#include "tests/promises.hpp"

// Tests of TokenMlp, TokenGlu and TokenNorm.

namespace gated::token_mlp_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;

/// Hidden sizes equal to, below and above the length, above the width of a SIMD vector, and 1 for a length of 1.
constexpr Index lengths[]{9, 9, 9, 21, 1}, hiddens[]{9, 4, 17, 40, 1};

TEST(TokenMlp, KeepsItsPromises) {
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    test::expect_promises<TokenMlp>({.channels = 5, .length = lengths[i], .hidden = hiddens[i]},
                                    {.lengths = {lengths[i], lengths[i]}});
  }
  for (const Index length : {9, 1}) {
    test::expect_promises<TokenMlp>({.channels = 5, .length = length, .hidden = 4, .norm = true, .norm_eps = 0.1},
                                    {.lengths = {length, length}});
  }
  test::expect_promises<TokenMlp>({.channels = 40, .length = 300, .hidden = 90, .activation = Activation::silu},
                                  {.lengths = {300, 300}, .trains = false});
}

TEST(TokenGlu, KeepsItsPromises) {
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    test::expect_promises<TokenGlu>({.channels = 5, .length = lengths[i], .hidden = hiddens[i]},
                                    {.lengths = {lengths[i], lengths[i]}});
  }
  test::expect_promises<TokenGlu>({.channels = 40, .length = 300, .hidden = 90, .activation = Activation::gelu},
                                  {.lengths = {300, 300}, .trains = false});
}

/// W v + b over the tokens of one sequence, as plain loops.
Matrix<double> project(const SpatialProjection<double>& layer, const Matrix<double>& v) {
  Matrix<double> y(layer.weight.rows(), v.cols());
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index c = 0; c < y.cols(); ++c) {
      double sum = layer.bias(0, i);
      for (Index j = 0; j < v.rows(); ++j) {
        sum += layer.weight(i, j) * v(j, c);
      }
      y(i, c) = sum;
    }
  }
  return y;
}

TEST(TokenMlp, EqualsAFeedForwardOnTheTranspose) {
  const auto layer = random_layer<TokenMlp<double>>({.channels = 5, .length = 9, .hidden = 4});
  const auto x = random_matrix<double>(18, 5, 2);
  Workspace<double> workspace;
  const Matrix<double> y = layer.forward(x, Sequences::uniform(2, 9), workspace);
  for (Index b = 0; b < 2; ++b) {
    const Matrix<double> hidden = literal::activate(Activation::gelu, project(layer.proj_in, x.middleRows(9 * b, 9)));
    EXPECT_TRUE(near(Matrix<double>(y.middleRows(9 * b, 9)), project(layer.proj_out, hidden))) << b;
  }
}

TEST(TokenMlp, NormalizesEachChannelOverTokensIfAsked) {
  const auto layer = random_layer<TokenMlp<double>>({.channels = 5, .length = 9, .hidden = 4, .norm = true, .norm_eps = 0.25});
  const auto x = random_matrix<double>(18, 5, 2);
  Workspace<double> workspace;
  TokenMlp<double> alone = layer;
  alone.norm.reset();
  Norm<double> norm(9, 0.25);
  norm.weight = layer.norm->weight;
  norm.bias = layer.norm->bias;
  for (Index b = 0; b < 2; ++b) {
    const Matrix<double> turned = x.middleRows(9 * b, 9).transpose();
    const Matrix<double> normed = norm.forward(turned, workspace).transpose();
    EXPECT_TRUE(near(Matrix<double>(layer.forward(x, Sequences::uniform(2, 9), workspace).middleRows(9 * b, 9)),
                     alone.forward(normed, Sequences::single(9), workspace)));
  }
}

TEST(TokenNorm, KeepsItsPromises) {
  test::expect_promises([](auto zero) { return TokenNorm<decltype(zero)>(3, 7, 1e-5); }, {.lengths = {7, 7, 7}});
  test::expect_promises([](auto zero) { return TokenNorm<decltype(zero)>(70, 90, 1e-6); },
                        {.lengths = {90, 90}, .trains = false});
}

TEST(TokenNorm, RefusesOtherLengths) {
  const TokenNorm<float> norm(2, 3, 1e-5);
  Workspace<float> workspace;
  EXPECT_EQ(message_of<ShapeError>([&] {
              norm.forward(Matrix<float>::Ones(7, 2), Sequences::of_lengths({3, 4}), workspace);
            }),
            "TokenNorm::forward: sequence 1 of 2 has 4 tokens, expected 3. Build it with length = the number of tokens per "
            "sequence.");
}

TEST(TokenGlu, EqualsAGluFeedForwardOnTheTranspose) {
  const auto layer = random_layer<TokenGlu<double>>({.channels = 5, .length = 9, .hidden = 4});
  const auto x = random_matrix<double>(18, 5, 2);
  Workspace<double> workspace;
  const Matrix<double> y = layer.forward(x, Sequences::uniform(2, 9), workspace);
  for (Index b = 0; b < 2; ++b) {
    const Matrix<double> tokens = x.middleRows(9 * b, 9);
    const Matrix<double> gate = literal::activate(Activation::silu, project(layer.gate, tokens));
    EXPECT_TRUE(
        near(Matrix<double>(y.middleRows(9 * b, 9)), project(layer.proj_out, gate.cwiseProduct(project(layer.up, tokens)))))
        << b;
  }
}

TEST(TokenMlp, RefusesOtherLengthsAndSuggestsARemedy) {
  const TokenMlp<float> layer({.channels = 4, .length = 12, .hidden = 5});
  Workspace<float> workspace;
  const Matrix<float> x = Matrix<float>::Ones(24, 4);
  EXPECT_EQ(message_of<ShapeError>([&] {
              layer.forward(x, Sequences::of_lengths({12, 11, 1}), workspace);
            }),
            "TokenMlp::forward: sequence 1 of 3 has 11 tokens, expected 12. Build it with length = the number of tokens per "
            "sequence.");
  EXPECT_EQ(message_of<ArgumentError>([] { TokenMlp<float>({.channels = 4, .length = 12}); }),
            "TokenMlp: channels = 4, length = 12 and hidden = 0 must be positive.");
  EXPECT_EQ(message_of<ArgumentError>([] { TokenGlu<float>({.channels = 4, .hidden = 2}); }),
            "TokenGlu: channels = 4, length = 0 and hidden = 2 must be positive.");
  const std::string said = message_of<ArgumentError>([&] { layer.start(); });
  EXPECT_NE(said.find("An MLP over tokens needs the whole sequence."), std::string::npos) << said;
}

}  // namespace
}  // namespace gated::token_mlp_test
