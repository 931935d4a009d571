#include "gated/ops/dynamic_convolution.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/convolution_options.hpp"
#include "tests/ops/op.hpp"

namespace gated::dynamic_convolution_test {
namespace {

using Options = test::ConvolutionOptions;
using test::convolution_options;
using test::random_matrix;
using test::random_vector;

template <class T>
struct Parameters {
  using Scalar = T;
  Options options;
  Vector<T> bias;

  explicit Parameters(const Options& o) : options(o), bias(random_vector<T>(o.bias ? o.channels : 0, 7)) {}
  static constexpr auto fields() { return Fields(field("bias", &Parameters::bias, Role::bias)); }
  Index columns() const { return options.channels + options.heads * options.taps; }
  DynamicTaps<T> taps() const { return {bias, options.heads, options.taps, options.own_tap, options.softmax}; }
};

/// Convolves the first columns of x; the taps' scores are in the other columns.
template <class Run, class P>
MatrixOf<Run> convolved(Run& run, const P& p, const MatrixOf<Run>& x, const Epilogue<Run>& epilogue = {}) {
  const Index channels = p.options.channels;
  return convolve_dynamic(run, run.columns(x, 0, channels), run.columns(x, channels, p.columns() - channels), p.taps(),
                          epilogue);
}

test::OpCase case_of(const Options& o) {
  return {.in = o.channels + o.heads * o.taps, .out = o.channels, .streams = o.own_tap == o.taps - 1};
}

TEST(DynamicConvolution, WorksInBatchesTapesAndCausalStreams) {
  for (const Options& options : convolution_options()) {
    test::expect_op<Parameters>(
        options, [](auto& run, const auto& p, auto x) { return convolved(run, p, x); }, case_of(options));
  }
}

TEST(DynamicConvolution, FusedEpiloguesAreBitEqualToSeparateOnes) {
  for (const Options& options : {convolution_options()[0], convolution_options()[4]}) {
    test::expect_bits_of_join<Parameters>(
        options, [](auto& run, const auto& p, const auto& x, auto epilogue) { return convolved(run, p, x, epilogue); },
        case_of(options));
  }
}

/// The convolution's result for whole sequences.
Matrix<double> result(const Parameters<double>& p, const Matrix<double>& x, const Sequences& sequences) {
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, sequences);
  return run[convolved(run, p, RunMatrix<double>(input_view<double>(x)))];
}

TEST(DynamicConvolution, EqualsItsFormula) {
  const auto sequences = Sequences::of_lengths({7, 0, 1, 45});
  for (const Options& o : convolution_options()) {
    const Parameters<double> p(o);
    const auto x = random_matrix<double>(53, p.columns(), 1);
    const Matrix<double> y = result(p, x, sequences);
    for (Index b = 0; b < sequences.count(); ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        const auto row = x.row(sequences.offset(b) + t);
        for (Index c = 0; c < o.channels; ++c) {
          const auto scores = row.segment(o.channels + c / (o.channels / o.heads) * o.taps, o.taps).array();
          const double sum_of_all = o.softmax ? scores.exp().sum() : 1;
          double sum = o.bias ? p.bias[c] : 0;
          for (Index k = 0; k < o.taps; ++k) {
            const Index from = t + k - o.own_tap;
            const double weight = (o.softmax ? std::exp(scores[k]) : scores[k]) / sum_of_all;
            sum += from >= 0 && from < sequences.length(b) ? weight * x(sequences.offset(b) + from, c) : 0;
          }
          ASSERT_NEAR(y(sequences.offset(b) + t, c), sum, 1e-13) << "token " << t << ", channel " << c;
        }
      }
    }
  }
}

TEST(DynamicConvolution, ReadsNothingOutsideTheSequence) {
  const auto sequences = Sequences::of_lengths({3, 4, 2});
  const Parameters<double> p(convolution_options()[5]);
  Matrix<double> x = random_matrix<double>(9, p.columns(), 1);
  const Matrix<double> clean = result(p, x, sequences);
  for (const Index outside : {0, 1, 2, 7, 8}) {
    x.row(outside).setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  EXPECT_TRUE(test::same_bits(result(p, x, sequences).middleRows(3, 4), clean.middleRows(3, 4)));
}

}  // namespace
}  // namespace gated::dynamic_convolution_test
