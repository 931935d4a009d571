#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "gated/ops/join.hpp"
#include "gated/train/recording.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/fourier_numbers.hpp"
#include "tests/train/gradients.hpp"

/// Tests an op in every kind of run.

namespace gated::test {

/// The parameters of an op that has none.
template <class T>
struct NoParameters {
  using Scalar = T;
  explicit NoParameters(int) {}
  static constexpr auto fields() { return Fields(); }
};

/// An op f(run, parameters, x) as a layer.
template <class Parameters, class F>
struct Op : Layer<Op<Parameters, F>, typename Parameters::Scalar> {
  static constexpr const char* name = "Op";

  Parameters parameters;
  F f;
  Index channels, width;

  Op(const Parameters& parameters_, const F& f_, Index channels_, Index width_)
      : parameters(parameters_), f(f_), channels(channels_), width(width_) {}
  static constexpr auto fields() { return Fields(field("parameters", &Op::parameters)); }
  Contract contract() const { return {.in = channels, .out = width, .sees = Sees::past, .takes_mask = true}; }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    return f(run, parameters, std::move(x));
  }
};

/// Sizes and options for testing an op.
struct OpCase {
  Index in = 0, out = 0;  ///< columns of x and y
  std::vector<Index> lengths = {7, 0, 1, 12};
  bool streams = true;  ///< also tests streams
  std::vector<std::uint8_t> mask = {};
  double tolerance = 1e-6;         ///< allowed error of a gradient, relative to the largest gradient
  bool streams_otherwise = false;  ///< streams equal a batch only up to rounding: they sum in a different order
};

/// Expects bit-equal results from a batch, single sequences, any number of threads, a tape, and streams of any step size.
/// If `streams_otherwise`, streams may differ from the batch by rounding.
template <class Layer>
void expect_same_in_every_run(const Layer& layer, const OpCase& c) {
  using T = typename Layer::Scalar;
  const Sequences sequences = Sequences::of_lengths(c.lengths);
  const Mask mask = c.mask;
  const auto x = random_matrix<T>(sequences.total(), c.in, 1);
  Workspace<T> workspace;
  const Matrix<T> y = layer.forward(x, sequences, workspace, mask);
  for (const int threads : {2, 3}) {
    Workspace<T> several(Threads{threads});
    EXPECT_TRUE(same_bits(layer.forward(x, sequences, several, mask), y)) << threads << " threads";
  }
  Tape<T> tape;
  Layer gradient = zeros_like(layer);
  tape.begin(layer, gradient);
  EXPECT_TRUE(same_bits(tape[record(tape, layer, tape.input(x), sequences, mask)], y)) << "recorded";
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    const auto rows = x.middleRows(offset, length), expected = y.middleRows(offset, length);
    EXPECT_TRUE(same_bits(layer.forward(rows, Sequences::single(length), workspace, mask_part(mask, offset, length)), expected))
        << "sequence " << b << " alone";
    Matrix<T> streamed = expected;
    for (const Index step : {Index{1}, Index{3}, std::max<Index>(length, 1)}) {
      State<T> state;
      if (c.streams) {
        state = layer.start(length);
      }
      for (Index t = 0; c.streams && t < length; t += step) {
        const Index count = std::min(step, length - t);
        Matrix<T> part(count, c.out);
        layer.extend(rows.middleRows(t, count), state, part, workspace);
        if (c.streams_otherwise && step == 1) {
          streamed.row(t) = part;
        }
        EXPECT_TRUE(same_bits(part, streamed.middleRows(t, count))) << "sequence " << b << ", from " << t << " by " << step;
      }
    }
    EXPECT_TRUE(near_largest<T>(streamed, Matrix<T>(expected).template cast<long double>()));
  }
}

/// Calls expect_same_in_every_run() for float and double, and expects that gradients match central differences. The op's
/// parameters are `Parameters<T>(options)`.
template <template <class> class Parameters, class Options, class F>
void expect_op(const Options& options, const F& f, const OpCase& c) {
  using P = Parameters<double>;
  const Op<P, F> layer(P(options), f, c.in, c.out);
  expect_same_in_every_run(layer, c);
  expect_same_in_every_run(Op<Parameters<float>, F>(Parameters<float>(options), f, c.in, c.out), c);
  const Sequences sequences = Sequences::of_lengths(c.lengths);
  expect_gradients(
      layer, random_matrix<double>(sequences.total(), c.in, 1),
      [&](Tape<double>& tape, const auto& op, Variable x) { return record(tape, op, x, sequences, c.mask); }, c.tolerance);
}

/// Overload for an op without parameters.
template <class F>
void expect_op(const F& f, const OpCase& c) {
  expect_op<NoParameters>(
      0, [f](auto& run, const auto&, auto x) { return f(run, std::move(x)); }, c);
}

namespace detail {

/// How an epilogue is applied to an op.
enum class Meeting {
  along,      ///< fused into the op
  moved,      ///< fused, with operands that the result may overwrite
  afterwards  ///< by join() on the plain result
};

/// The epilogue with the given `fields`, one bit each. Its operands are blocks of `out` columns of x after the first `in`.
template <class Run>
Epilogue<Run> epilogue_of_columns(Run& run, unsigned fields, const MatrixOf<Run>& x, Index in, Index out, bool owned) {
  const auto part = [&](unsigned bit, Index k) {
    MatrixOf<Run> matrix = fields & bit ? run.columns(x, in + k * out, out) : MatrixOf<Run>();
    if constexpr (!Run::records) {
      matrix = matrix && owned ? run.owned(std::move(matrix)) : std::move(matrix);
    }
    return matrix;
  };
  return {.added = part(1, 0),
          .activation = fields & 2 ? Activation::tanh : Activation::identity,
          .gate = part(4, 1),
          .residual = part(8, 2)};
}

template <class Parameters, class F>
void expect_bits_of_join(const Parameters& parameters, const F& f, const OpCase& c) {
  using T = typename Parameters::Scalar;
  const Sequences sequences = Sequences::of_lengths(c.lengths);
  const auto x = random_matrix<T>(sequences.total(), c.in + 3 * c.out, 1);
  for (unsigned fields = 0; fields < 16; ++fields) {
    const auto results = [&](Meeting meeting) {
      const auto op = [&f, fields, meeting, in = c.in, out = c.out](auto& run, const auto& p, auto given) {
        using Run = std::remove_cvref_t<decltype(run)>;
        const auto input = run.columns(given, 0, in);
        auto epilogue = epilogue_of_columns(run, fields, given, in, out, meeting == Meeting::moved);
        return meeting == Meeting::afterwards ? join(run, f(run, p, input, Epilogue<Run>()), std::move(epilogue))
                                              : f(run, p, input, std::move(epilogue));
      };
      const Op<Parameters, decltype(op)> layer(parameters, op, c.in + 3 * c.out, c.out);
      Workspace<T> workspace;
      std::vector<Matrix<T>> found{layer.forward(x, sequences, workspace)};
      if (c.streams) {
        const Index length = sequences.length(0);
        State<T> state = layer.start(length);
        found.emplace_back(length, c.out);
        layer.extend(x.topRows(length), state, found.back(), workspace);
      }
      return found;
    };
    const auto expected = results(Meeting::afterwards);
    for (const Meeting meeting : {Meeting::along, Meeting::moved}) {
      const auto found = results(meeting);
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(same_bits(found[i], expected[i]))
            << "fields " << fields << (meeting == Meeting::moved ? ", moved" : "") << (i == 0 ? "" : ", in a stream");
      }
    }
  }
}

}  // namespace detail

/// Expects that f(run, parameters, x, epilogue) is bit-equal to calling f without an epilogue and then join(), as runs with
/// hooks do. Tests float and double, also with results that overwrite an operand.
template <template <class> class Parameters, class Options, class F>
void expect_bits_of_join(const Options& options, const F& f, const OpCase& c) {
  detail::expect_bits_of_join(Parameters<float>(options), f, c);
  detail::expect_bits_of_join(Parameters<double>(options), f, c);
}

/// Overload for an op without parameters.
template <class F>
void expect_bits_of_join(const F& f, const OpCase& c) {
  expect_bits_of_join<NoParameters>(
      0, [f](auto& run, const auto&, const auto& x, auto epilogue) { return f(run, x, std::move(epilogue)); }, c);
}

}  // namespace gated::test
