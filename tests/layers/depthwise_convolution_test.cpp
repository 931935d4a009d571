#include "gated/layers/depthwise_convolution.hpp"

#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::depthwise_convolution_test {
namespace {

using test::expect_error;
using test::random_matrix;

template <class T>
using Conv = DepthwiseConvolution<T>;

/// A depthwise convolution by its formula, term by term.
Matrix<double> literal(const Conv<double>& conv, const Matrix<double>& x, const Sequences& sequences) {
  const auto& c = conv.config;
  const Index own = c.causal ? c.kernel - 1 : c.kernel / 2;
  Matrix<double> y(x.rows(), c.channels);
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      for (Index j = 0; j < c.channels; ++j) {
        double sum = (c.bias ? conv.bias[j] : 0) + (c.skip ? x(sequences.offset(b) + t, j) : 0);
        for (Index i = 0; i < c.inputs; ++i) {
          for (Index k = 0; k < c.kernel; ++k) {
            const Index from = t + (k - own) * c.dilation;
            if (from >= 0 && from < sequences.length(b)) {
              sum += conv.weight(j, i * c.kernel + k) * x(sequences.offset(b) + from, j * c.inputs + i);
            }
          }
        }
        y(sequences.offset(b) + t, j) = sum;
      }
    }
  }
  return y;
}

/// Kernels shorter and longer than the sequences, one tap, dilations, several inputs, and channels below, at and above a vector
/// width.
std::vector<DepthwiseConvolutionConfig> configurations() {
  return {{.channels = 3, .kernel = 5},
          {.channels = 8, .kernel = 1, .bias = false},
          {.channels = 17, .kernel = 31, .skip = true},
          {.channels = 33, .kernel = 3, .dilation = 4},
          {.channels = 5, .kernel = 7, .dilation = 2, .inputs = 2, .bias = false},
          {.channels = 6, .kernel = 4, .causal = true},
          {.channels = 40, .kernel = 9, .bias = false, .skip = true, .causal = true},
          {.channels = 7, .kernel = 3, .dilation = 3, .inputs = 3, .causal = true}};
}

TEST(DepthwiseConvolution, KeepsItsPromises) {
  for (const auto& config : configurations()) {
    test::expect_promises<Conv>(config, {.causal = config.causal || config.kernel == 1, .rewinds = false});
  }
  test::expect_promises<Conv>({.channels = 70, .kernel = 17, .skip = true}, {.lengths = {90, 4, 0, 130, 1}, .trains = false});
}

TEST(DepthwiseConvolution, EqualsItsFormula) {
  const auto sequences = Sequences::of_lengths({50, 7, 0, 1, 40});
  for (const auto& config : configurations()) {
    Conv<double> conv(config);
    test::randomize(conv, 1);
    const auto x = random_matrix<double>(sequences.total(), config.channels * config.inputs, 2);
    const auto expected = literal(conv, x, sequences);
    EXPECT_LT((conv.forward(x, sequences) - expected).cwiseAbs().maxCoeff(), 1e-14 * expected.cwiseAbs().maxCoeff());
  }
}

TEST(DepthwiseConvolution, HasAStateOfConstantSizeAndUnlimitedCapacity) {
  const auto state = Conv<float>({.channels = 6, .kernel = 5, .dilation = 2, .causal = true}).start();
  EXPECT_EQ(state.capacity(), State<float>::unlimited);
  EXPECT_EQ(state.bytes(), 8 * 6 * sizeof(float));
}

TEST(DepthwiseConvolution, RefusesInvalidConfigurations) {
  expect_error<ArgumentError>([] { Conv<float>({.channels = 0}); }, {"channels = 0"});
  expect_error<ArgumentError>([] { Conv<float>({.channels = 4, .kernel = 6}); }, {"kernel = 6", "odd"});
  expect_error<ArgumentError>([] { Conv<float>({.channels = 4, .kernel = 0, .causal = true}); }, {"kernel = 0"});
  expect_error<ArgumentError>([] { Conv<float>({.channels = 4, .kernel = 3, .inputs = 2, .skip = true}); }, {"2 channels"});
  EXPECT_NO_THROW(Conv<float>({.channels = 4, .kernel = 6, .causal = true}));
}

}  // namespace
}  // namespace gated::depthwise_convolution_test
