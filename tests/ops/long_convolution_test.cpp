#include "gated/ops/long_convolution.hpp"

#include "op.hpp"

namespace gated::long_convolution_test {
namespace {

using test::random_matrix;

struct Options {
  LongConvolution convolution;
  Index heads, lags;
};

template <class T>
struct Kernel {
  using Scalar = T;
  Options options;
  Matrix<T> w;

  explicit Kernel(const Options& o) : options(o), w(random_matrix<T>(o.heads, o.lags, 1)) {}
  static constexpr auto fields() { return std::tuple{field("w", &Kernel::w, Role::spatial)}; }
};

const auto convolved = [](auto& run, const auto& kernel, const auto& v, const auto& to) {
  return long_convolution(run, kernel.w, kernel.options.convolution, v, Fused<std::remove_cvref_t<decltype(run)>>(), to);
};
using Convolved = decltype(convolved);

std::vector<Options> all_options(Index length, Index from) {
  return {{{.causal = true, .fourier_from = from}, 1, length},
          {{.causal = true, .fourier_from = from}, 3, length},
          {{.causal = false, .fourier_from = from}, 1, 2 * length - 1},
          {{.causal = false, .fourier_from = from}, 3, 2 * length - 1}};
}

template <class T>
class LongConvolutionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LongConvolutionOf, Scalars, );

TYPED_TEST(LongConvolutionOf, EqualsTheLiteralSum) {
  using T = TypeParam;
  for (const Index length : {1, 7, 60, 250}) {
    for (const Index from : {4, 1000}) {
      for (const Options& options : all_options(length, from)) {
        const test::Op<Kernel<T>, Convolved> layer(Kernel<T>(options), convolved, 6, 6);
        const Matrix<T>& w = layer.parameters.w;
        const Index n = length - length / 3, zero = options.convolution.causal ? 0 : length - 1;
        const Matrix<T> v = random_matrix<T>(n, 6, 2);
        Matrix<long double> expected = Matrix<long double>::Zero(n, 6);
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < n; ++j) {
            for (Index c = 0; c < 6 && (j <= i || !options.convolution.causal); ++c) {
              expected(i, c) +=
                  static_cast<long double>(w(c * options.heads / 6, zero + i - j)) * static_cast<long double>(v(j, c));
            }
          }
        }
        Workspace<T> workspace;
        EXPECT_TRUE(test::near_largest<T>(layer.forward(v, Sequences::single(n), workspace), expected))
            << length << " lags, " << options.heads << " heads, from " << from;
      }
    }
  }
}

TEST(LongConvolution, IsTheSameInEveryRunAndHasItsDerivative) {
  for (const Index from : {4, 1000}) {
    for (const Options& options : all_options(30, from)) {
      test::expect_op<Kernel>(options, convolved,
                              {.in = 6,
                               .out = 6,
                               .lengths = {7, 0, 1, 30, 26},
                               .streams = options.convolution.causal,
                               .streams_otherwise = from == 4});
    }
  }
}

TEST(LongConvolution, RefusesWhatDoesNotFit) {
  const auto refusal = [](const Options& options, Index tokens, Index channels) {
    const test::Op<Kernel<float>, Convolved> layer(Kernel<float>(options), convolved, channels, channels);
    Workspace<float> workspace;
    return test::message_of<ShapeError>(
        [&] { layer.forward(Matrix<float>::Zero(tokens, channels), Sequences::single(tokens), workspace); });
  };
  EXPECT_NE(refusal({{.causal = true}, 2, 9}, 9, 5).find("5 channels, which heads = 2 does not divide"), std::string::npos);
  EXPECT_NE(refusal({{.causal = true}, 2, 9}, 10, 4).find("10 tokens, but w has 9 lags"), std::string::npos);
  EXPECT_NE(refusal({{.causal = false}, 2, 9}, 6, 4).find("6 tokens, but w has 5 lags"), std::string::npos);
  EXPECT_NE(refusal({{.causal = false}, 2, 8}, 4, 4).find("w is 2 × 8"), std::string::npos);
  const test::Op<Kernel<float>, Convolved> both_ways(Kernel<float>(Options{{.causal = false}, 2, 9}), convolved, 4, 4);
  EXPECT_NE(test::message_of<ArgumentError>([&] { both_ways.start(4); }).find("causal = true"), std::string::npos);
}

}  // namespace
}  // namespace gated::long_convolution_test
