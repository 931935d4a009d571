#include "gated/ops/depthwise_start.hpp"

#include "tests/ops/op.hpp"

namespace gated::depthwise_start_test {
namespace {

struct Options {
  Index kernel, dilation, own_tap;
};

/// The weights of a convolution, and the constant row that precedes each sequence.
template <class T>
struct Parameters {
  using Scalar = T;
  Options options;
  Matrix<T> weight;
  Vector<T> bias, constant;

  explicit Parameters(const Options& o)
      : options(o),
        weight(test::random_matrix<T>(5, o.kernel, 1)),
        bias(test::random_vector<T>(5, 2)),
        constant(test::random_vector<T>(5, 3)) {}
  static constexpr auto fields() {
    return Fields(field("weight", &Parameters::weight, Role::spatial), field("bias", &Parameters::bias, Role::spatial),
                  field("constant", &Parameters::constant, Role::norm));
  }
  Depthwise<T> depthwise() const {
    return {.weight = weight, .bias = bias, .dilation = options.dilation, .own_tap = options.own_tap};
  }
};

const auto convolve = [](auto& run, const auto& p, auto x) {
  using Run = std::remove_cvref_t<decltype(run)>;
  return pad_start(run, convolve_depthwise(run, x, p.depthwise(), Epilogue<Run>()), p.depthwise(), p.constant);
};

TEST(PadStart, EqualsTheConvolutionOfPaddedSequences) {
  for (const Options& o : {Options{4, 1, 3}, Options{5, 3, 4}, Options{5, 2, 2}, Options{3, 1, 0}, Options{1, 1, 0}}) {
    SCOPED_TRACE(text(o.kernel, " taps, ", o.dilation, " apart, from ", -o.own_tap));
    const Parameters<double> p(o);
    const Sequences sequences = Sequences::of_lengths({9, 0, 2, 30});
    const auto x = test::random_matrix<double>(sequences.total(), 5, 4);
    Workspace<double> workspace;
    const test::Op<Parameters<double>, decltype(convolve)> layer(p, convolve, 5, 5);
    const Matrix<double> y = layer.forward(x, sequences, workspace);
    for (Index b = 0; b < sequences.count(); ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        for (Index c = 0; c < 5; ++c) {
          double sum = p.bias[c];
          for (Index k = 0; k < o.kernel; ++k) {
            const Index from = t + (k - o.own_tap) * o.dilation;
            sum += p.weight(c, k) * (from < 0                     ? p.constant[c]
                                     : from < sequences.length(b) ? x(sequences.offset(b) + from, c)
                                                                  : 0);
          }
          EXPECT_NEAR(y(sequences.offset(b) + t, c), sum, 1e-13);
        }
      }
    }
  }
}

/// z + pad_start(z): z is read again after pad_start().
const auto beside_itself = [](auto& run, const auto& p, auto x) {
  const auto z = scale(run, std::move(x), number<typename std::remove_cvref_t<decltype(run)>::Scalar>(2));
  return add(run, pad_start(run, z, p.depthwise(), p.constant), z);
};

TEST(PadStart, WorksInBatchesOnTapesAndInCausalStreams) {
  for (const Options& o : {Options{4, 1, 3}, Options{5, 3, 4}, Options{1, 1, 0}}) {
    test::expect_op<Parameters>(o, convolve, {.in = 5, .out = 5});
    test::expect_op<Parameters>(o, beside_itself, {.in = 5, .out = 5});
  }
  test::expect_op<Parameters>(Options{5, 2, 2}, convolve, {.in = 5, .out = 5, .streams = false});
}

}  // namespace
}  // namespace gated::depthwise_start_test
