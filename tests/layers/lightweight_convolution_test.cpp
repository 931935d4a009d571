#include "gated/layers/lightweight_convolution.hpp"

#include "literal_convolution.hpp"
#include "tests/promises.hpp"

namespace gated::lightweight_convolution_test {
namespace {

using test::expect_error;
using test::near;
using test::random_matrix;
using test::wide;

constexpr auto dynamic = ConvolutionForm::dynamic;

/// Both forms with every option. Kernels have one tap, or are shorter or longer than the sequences. Heads have one channel, or
/// are narrower than a SIMD vector or wider than a tile.
std::vector<LightweightConvolutionConfig> configurations() {
  std::vector<LightweightConvolutionConfig> all{
      {.channels = 6, .heads = 3, .kernel = 5},
      {.channels = 6, .heads = 2, .kernel = 3, .softmax = false, .bias = true},
      {.channels = 4, .heads = 4, .kernel = 13, .bias = true},
      {.channels = 70, .heads = 2, .kernel = 7},
      {.channels = 5, .heads = 1, .kernel = 1, .softmax = false},
      {.channels = 6, .heads = 2, .kernel = 4, .bias = true, .causal = true},
      {.channels = 40, .heads = 1, .kernel = 9, .softmax = false, .causal = true},
  };
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    all.push_back(all[i]);
    all.back().form = dynamic;
    all.back().score_bias = i % 2 == 0;
  }
  return all;
}

TEST(LightweightConvolution, KeepsItsPromises) {
  for (const auto& config : configurations()) {
    test::expect_promises<LightweightConvolution>(config, {.causal = config.causal, .rewinds = false});
  }
  for (const auto form : {ConvolutionForm::lightweight, dynamic}) {
    test::expect_promises<LightweightConvolution>({.channels = 70, .heads = 2, .kernel = 17, .form = form},
                                                  {.lengths = {90, 4, 0, 130, 1}, .trains = false});
  }
}

template <class T>
void expect_formula() {
  const auto sequences = Sequences::of_lengths({50, 7, 0, 1, 40});
  std::vector<std::uint8_t> mask(98, 1);
  for (const std::size_t hidden : {0U, 20U, 21U, 56U, 57U}) {  // token 57 is a sequence by itself
    mask[hidden] = 0;
  }
  for (const auto& config : configurations()) {
    LightweightConvolution<T> conv(config);
    test::randomize(conv, 1);
    const auto x = random_matrix<T>(sequences.total(), config.channels, 2);
    Workspace<T> workspace;
    EXPECT_TRUE(near(conv.forward(x, sequences, workspace), literal::convolution(conv, wide(x), sequences)));
    EXPECT_TRUE(near(conv.forward(x, sequences, workspace, mask), literal::convolution(conv, wide(x), sequences, mask)));
  }
}

TEST(LightweightConvolution, EqualsItsFormula) {
  expect_formula<float>();
  expect_formula<double>();
}

TEST(LightweightConvolution, NormalizesOverAllTapsEvenAtTheStart) {
  for (const auto form : {ConvolutionForm::lightweight, dynamic}) {
    LightweightConvolution<double> conv({.channels = 2, .kernel = 5, .form = form, .causal = true});
    (form == dynamic ? conv.scores->weight : conv.weight).setZero();
    const Matrix<double> y = conv.forward(Matrix<double>::Ones(7, 2));
    for (Index t = 0; t < 7; ++t) {
      EXPECT_NEAR(y(t, 0), static_cast<double>(std::min<Index>(t + 1, 5)) / 5, 1e-15) << t;
    }
  }
}

TEST(LightweightConvolution, HandlesHugeScores) {
  LightweightConvolution<float> conv({.channels = 2, .kernel = 3});
  conv.weight << 3e38f, -3e38f, 1;
  LightweightConvolution<float> predicted({.channels = 2, .kernel = 3, .form = dynamic});
  predicted.scores->weight.setConstant(1e30f);
  predicted.scores->weight.row(1).setConstant(2e30f);
  const Matrix<float> x = random_matrix<float>(5, 2, 1).cwiseAbs();
  Matrix<float> shifted = Matrix<float>::Zero(5, 2);
  shifted.bottomRows(4) = x.topRows(4);
  EXPECT_TRUE(test::same_bits(conv.forward(x), shifted));
  EXPECT_TRUE(test::same_bits(predicted.forward(x), x));
}

TEST(LightweightConvolution, StreamsForeverWithAStateOfConstantSize) {
  for (const auto form : {ConvolutionForm::lightweight, dynamic}) {
    const auto state =
        LightweightConvolution<float>({.channels = 6, .heads = 2, .kernel = 5, .form = form, .causal = true}).start();
    EXPECT_EQ(state.capacity(), State<float>::unlimited);
    EXPECT_EQ(state.bytes(), 4 * 6 * sizeof(float));
  }
}

TEST(LightweightConvolution, InitializesLikeFairseq) {
  Random random(1);
  const LightweightConvolution<double> learned({.channels = 64, .heads = 32, .kernel = 31, .bias = true}, random);
  const auto deviation = [](const auto& m) { return std::sqrt(m.squaredNorm() / static_cast<double>(m.size())); };
  const double bound = std::sqrt(6.0 / (31 * 33));
  EXPECT_LE(learned.weight.cwiseAbs().maxCoeff(), bound);
  EXPECT_NEAR(deviation(learned.weight), bound / std::sqrt(3.0), 2e-3);
  EXPECT_EQ(learned.bias, Vector<double>::Zero(64));
  const LightweightConvolution<double> predicted(
      {.channels = 64, .heads = 32, .kernel = 31, .form = dynamic, .score_bias = true, .bias = true}, random);
  EXPECT_LE(predicted.scores->weight.cwiseAbs().maxCoeff(), 1.0 / 8);
  EXPECT_NEAR(deviation(predicted.scores->weight), 1 / (8 * std::sqrt(3.0)), 1e-3);
  EXPECT_NEAR(deviation(predicted.scores->bias), 1 / (8 * std::sqrt(3.0)), 3e-3);
  EXPECT_EQ(predicted.bias, Vector<double>::Zero(64));
}

TEST(LightweightConvolution, RefusesInvalidConfigurations) {
  using Conv = LightweightConvolution<float>;
  expect_error<ArgumentError>([] { Conv({.channels = 0}); }, {"channels = 0"});
  expect_error<ArgumentError>([] { Conv({.channels = 4, .heads = 0}); }, {"heads = 0"});
  expect_error<ArgumentError>([] { Conv({.channels = 6, .heads = 4}); }, {"heads = 4 does not divide channels = 6"});
  expect_error<ArgumentError>([] { Conv({.channels = 4, .kernel = 6}); }, {"kernel = 6", "causal = true"});
  expect_error<ArgumentError>([] { Conv({.channels = 4, .kernel = 0, .causal = true}); }, {"kernel = 0"});
  expect_error<ArgumentError>([] { Conv({.channels = 4, .score_bias = true}); }, {"score_bias", "form = dynamic"});
  EXPECT_NO_THROW(Conv({.channels = 4, .kernel = 6, .causal = true}));
}

}  // namespace
}  // namespace gated::lightweight_convolution_test
