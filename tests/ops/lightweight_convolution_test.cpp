#include "gated/ops/lightweight_convolution.hpp"

#include <gtest/gtest.h>

#include "tests/ops/convolution_options.hpp"
#include "tests/ops/op.hpp"

namespace gated::lightweight_convolution_op_test {
namespace {

using Options = test::ConvolutionOptions;
using test::convolution_options;
using test::random_matrix;
using test::random_vector;

template <class T>
struct Parameters {
  using Scalar = T;
  Options options;
  Matrix<T> weight;
  Vector<T> bias;

  explicit Parameters(const Options& o)
      : options(o), weight(random_matrix<T>(o.heads, o.taps, 6)), bias(random_vector<T>(o.bias ? o.channels : 0, 7)) {}
  static constexpr auto fields() {
    return Fields(field("weight", &Parameters::weight, Role::spatial), field("bias", &Parameters::bias, Role::spatial));
  }
  LightweightTaps<T> taps() const { return {weight, bias, options.own_tap, options.softmax}; }
};

test::OpCase case_of(const Options& o) { return {.in = o.channels, .out = o.channels, .streams = o.own_tap == o.taps - 1}; }

TEST(LightweightConvolutionOp, WorksInEveryKindOfRun) {
  for (const Options& options : convolution_options()) {
    test::expect_op<Parameters>(
        options, [](auto& run, const auto& p, auto x) { return convolve_lightweight(run, x, p.taps(), {}); }, case_of(options));
  }
}

TEST(LightweightConvolutionOp, FusedEpiloguesAreBitEqualToSeparateOnes) {
  for (const Options& options : {convolution_options()[0], convolution_options()[3]}) {
    test::expect_bits_of_join<Parameters>(
        options,
        [](auto& run, const auto& p, const auto& x, auto epilogue) { return convolve_lightweight(run, x, p.taps(), epilogue); },
        case_of(options));
  }
}

TEST(LightweightConvolutionOp, SharesTapsAmongNeighbouringChannels) {
  const Parameters<double> p({.channels = 6, .heads = 2, .taps = 3, .own_tap = 1, .softmax = false, .bias = false});
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(1));
  const Matrix<double> shared = run[gated::detail::share_taps(run, p.weight, 6, false)];
  for (Index c = 0; c < 6; ++c) {
    EXPECT_TRUE(test::same_bits(shared.row(c), p.weight.row(c / 3))) << c;
  }
}

}  // namespace
}  // namespace gated::lightweight_convolution_op_test
