#include "gated/ops/softmax_gate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op.hpp"

namespace gated::softmax_gate_test {
namespace {

using test::random_matrix;

template <class T>
class SoftmaxGateOf : public ::testing::Test {
 protected:
  static Matrix<T> gated(const Matrix<T>& x, const Matrix<T>& z, const Sequences& sequences, GateAxis axis) {
    Workspace<T> workspace;
    const auto frame = workspace.frame();
    Batch<T> run(workspace, sequences);
    return run[softmax_gate(run, RunMatrix<T>(input_view<T>(x)), RunMatrix<T>(input_view<T>(z)), axis)];
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SoftmaxGateOf, Scalars, );

TYPED_TEST(SoftmaxGateOf, EqualsItsFormulaAlongBothAxes) {
  using T = TypeParam;
  const Sequences sequences = Sequences::of_lengths({7, 0, 1, 4});
  constexpr auto epsilon = static_cast<long double>(std::numeric_limits<T>::epsilon());
  for (Index columns = 1; columns <= 40; ++columns) {
    const Matrix<T> x = random_matrix<T>(12, columns, 1), z = random_matrix<T>(12, columns, 2, 3.0);
    for (const GateAxis axis : {GateAxis::channels, GateAxis::tokens}) {
      const Matrix<T> y = this->gated(x, z, sequences, axis);
      for (Index b = 0; b < sequences.count(); ++b) {
        for (Index i = sequences.offset(b); i < sequences.offset(b) + sequences.length(b); ++i) {
          for (Index j = 0; j < columns; ++j) {
            long double sum = 0;
            const bool along_tokens = axis == GateAxis::tokens;
            for (Index k = 0; k < (along_tokens ? sequences.length(b) : columns); ++k) {
              sum += std::exp(static_cast<long double>(along_tokens ? z(sequences.offset(b) + k, j) : z(i, k)));
            }
            const long double share = std::exp(static_cast<long double>(z(i, j))) / sum;
            ASSERT_TRUE(test::close(y(i, j), static_cast<long double>(x(i, j)) * share, 16 * epsilon))
                << i << ", " << j << " of " << columns;
          }
        }
      }
    }
  }
}

TYPED_TEST(SoftmaxGateOf, HandlesHugeScores) {
  using T = TypeParam;
  Matrix<T> x = Matrix<T>::Ones(3, 19), z = Matrix<T>::Constant(3, 19, T(-1e30));
  z.row(1).setConstant(T(1e30));
  Matrix<T> expected = Matrix<T>::Zero(3, 19);
  expected.row(1).setOnes();
  EXPECT_EQ(this->gated(x, z, Sequences::single(3), GateAxis::tokens), expected);
}

TYPED_TEST(SoftmaxGateOf, KeepsNaNInItsColumn) {
  using T = TypeParam;
  const Matrix<T> x = Matrix<T>::Ones(5, 19), z = random_matrix<T>(5, 19, 3);
  const Matrix<T> clean = this->gated(x, z, Sequences::of_lengths({3, 2}), GateAxis::tokens);
  for (const Index row : {0, 1, 2}) {
    Matrix<T> bad = z;
    bad(row, 4) = std::numeric_limits<T>::quiet_NaN();
    Matrix<T> y = this->gated(x, bad, Sequences::of_lengths({3, 2}), GateAxis::tokens);
    EXPECT_TRUE(y.col(4).head(3).array().isNaN().all()) << row;
    y.col(4).head(3) = clean.col(4).head(3);
    EXPECT_TRUE(test::same_bits(y, clean)) << row;
  }
}

TEST(SoftmaxGate, IsDroppedBeforeTheResidual) {
  struct None {
    static constexpr auto fields() { return Fields(); }
  } model, gradient;
  Tape<double> tape({}, {.residual_dropout = 0.5});
  Random random(1);
  tape.begin(model, gradient, random);
  Recording<double> run(tape, Sequences::single(20));
  const Matrix<double> x = random_matrix<double>(20, 10, 1);
  const auto residual = tape.input(x);
  const Matrix<double> y = tape[softmax_gate(run, tape.input(x), tape.input(x), GateAxis::channels, {.residual = residual})];
  const auto dropped = (y.array() == x.array()).count();
  EXPECT_GT(dropped, 50);
  EXPECT_LT(dropped, 150);
}

TEST(SoftmaxGate, WorksInEveryRun) {
  for (const GateAxis axis : {GateAxis::channels, GateAxis::tokens}) {
    for (const Index channels : {1, 5, 40}) {
      test::expect_op(
          [axis](auto& run, auto x) {
            using T = typename std::remove_cvref_t<decltype(run)>::Scalar;
            return softmax_gate(run, x, scale(run, x, number<T>(T(-1.3))), axis);
          },
          {.in = channels, .out = channels, .streams = axis == GateAxis::channels});
    }
  }
}

TEST(SoftmaxGate, FusesAResidual) {
  for (const GateAxis axis : {GateAxis::channels, GateAxis::tokens}) {
    for (const Index channels : {1, 5, 40}) {
      test::expect_op(
          [axis](auto& run, auto x) {
            using T = typename std::remove_cvref_t<decltype(run)>::Scalar;
            const auto residual = scale(run, x, number<T>(T(0.7)));
            return softmax_gate(run, x, scale(run, x, number<T>(T(-1.3))), axis, {.residual = residual});
          },
          {.in = channels, .out = channels, .streams = axis == GateAxis::channels});
    }
    const auto x = random_matrix<double>(6, 21, 1), z = random_matrix<double>(6, 21, 2), r = random_matrix<double>(6, 21, 3);
    Workspace<double> workspace;
    const auto frame = workspace.frame();
    Batch<double> run(workspace, Sequences::of_lengths({4, 2}));
    const auto gate = [&](const Epilogue<Batch<double>>& options) -> Matrix<double> {
      return run[softmax_gate(run, RunMatrix<double>(input_view<double>(x)), RunMatrix<double>(input_view<double>(z)), axis,
                              options)];
    };
    const Matrix<double> plain = gate({}), joined = gate({.residual = RunMatrix<double>(input_view<double>(r))});
    EXPECT_LT((joined - plain - r).cwiseAbs().maxCoeff(), 1e-14);
    EXPECT_TRUE(test::same_bits(joined, Matrix<double>(plain + r))) << "fusion must not change the rounding";
  }
}

TEST(SoftmaxGate, FusedEpiloguesAreBitEqualToSeparateOnes) {
  for (const GateAxis axis : {GateAxis::channels, GateAxis::tokens}) {
    test::expect_bits_of_join(
        [axis](auto& run, const auto& x, auto epilogue) {
          using T = typename std::remove_cvref_t<decltype(run)>::Scalar;
          return softmax_gate(run, x, scale(run, x, number<T>(T(-1.3))), axis, std::move(epilogue));
        },
        {.in = 21, .out = 21, .streams = axis == GateAxis::channels});
  }
}

TEST(SoftmaxGate, LeavesSharedScoresUnchanged) {
  const auto x = random_matrix<double>(6, 5, 1), z = random_matrix<double>(6, 5, 2);
  const Matrix<double> before = z;
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(6));
  using R = RunMatrix<double>;
  const R factor(input_view<double>(x));
  R scores = run.owned(R(input_view<double>(z))), own = run.owned(factor);
  const Matrix<double> y = run[softmax_gate(run, factor, R(input_view<double>(z)), GateAxis::tokens)];
  EXPECT_TRUE(test::same_bits(z, before)) << "a caller's";
  EXPECT_TRUE(test::same_bits(run[softmax_gate(run, factor, scores, GateAxis::tokens)], y));
  EXPECT_TRUE(test::same_bits(run[scores], before)) << "not moved";
  const double* const place = own.data;
  const R result = softmax_gate(run, std::move(own), std::move(scores), GateAxis::tokens);
  EXPECT_EQ(result.data, place);
  EXPECT_TRUE(test::same_bits(run[result], y));
}

TEST(SoftmaxGate, RefusesMismatchedShapes) {
  const auto x = random_matrix<double>(6, 5, 1), z = random_matrix<double>(6, 4, 2);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(6));
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              softmax_gate(run, RunMatrix<double>(input_view<double>(x)), RunMatrix<double>(input_view<double>(z)),
                           GateAxis::channels);
            }),
            "softmax_gate: x is 6 × 5 and z is 6 × 4, expected equal shapes.");
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              softmax_gate(run, RunMatrix<double>(input_view<double>(x)), RunMatrix<double>(input_view<double>(x)),
                           GateAxis::channels, {.residual = RunMatrix<double>(input_view<double>(z))});
            }),
            "Epilogue: residual is 6 × 4, expected 6 × 5, the shape of the result.");
}

}  // namespace
}  // namespace gated::softmax_gate_test
