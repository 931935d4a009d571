#include "gated/ops/pool.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gated/ops/gather.hpp"
#include "tests/ops/op.hpp"

namespace gated::pool_test {
namespace {

template <class T>
class MeanOverTokensOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MeanOverTokensOf, Scalars, );

template <class T>
Matrix<T> pooled(const Matrix<T>& x, const Sequences& sequences, int threads = 1) {
  const Workspace<T> workspace(Threads{threads});
  Matrix<T> y = Matrix<T>::Constant(sequences.count(), x.cols(), std::numeric_limits<T>::quiet_NaN());
  mean_over_tokens<T>(x, sequences, y, workspace);
  return y;
}

TYPED_TEST(MeanOverTokensOf, AveragesEachSequence) {
  Matrix<TypeParam> x(5, 2), expected(2, 2);
  x << 1, 2, 3, 6, 10, 0, 20, 0, 30, 6;
  expected << 2, 4, 20, 2;
  EXPECT_TRUE(((pooled<TypeParam>(x, Sequences::of_lengths({2, 3})) - expected).array().abs() < TypeParam(1e-5)).all());
}

TEST(MeanOverTokens, IsAccurateForManyTokens) {
  const Matrix<float> x = Matrix<float>::Constant(200000, 3, 0.1F);
  EXPECT_LE((pooled<float>(x, Sequences::single(200000)).array() / 0.1F - 1).abs().maxCoeff(), 2e-7F);
}

TYPED_TEST(MeanOverTokensOf, EqualsItsFormulaForEveryWidth) {
  const Sequences sequences = Sequences::of_lengths({1, 7, 12});
  for (Index channels = 1; channels <= 40; ++channels) {
    const auto x = test::random_matrix<TypeParam>(20, channels, 1);
    const Matrix<TypeParam> y = pooled(x, sequences);
    for (Index b = 0; b < 3; ++b) {
      for (Index j = 0; j < channels; ++j) {
        const auto column = x.col(j).segment(sequences.offset(b), sequences.length(b)).template cast<long double>();
        const auto epsilon = static_cast<long double>(std::numeric_limits<TypeParam>::epsilon());
        ASSERT_TRUE(test::close(y(b, j), column.mean(), 8 * epsilon)) << b << ", " << j << " of " << channels;
      }
    }
  }
}

TYPED_TEST(MeanOverTokensOf, IsTheTokenItselfForOneToken) {
  const auto x = test::random_matrix<TypeParam>(3, 21, 2);
  EXPECT_TRUE(test::same_bits(pooled(x, Sequences::uniform(3, 1)), x));
}

TYPED_TEST(MeanOverTokensOf, IsZeroForAnEmptySequence) {
  const auto x = test::random_matrix<TypeParam>(3, 9, 3);
  const Matrix<TypeParam> y = pooled(x, Sequences::of_lengths({0, 3, 0}));
  EXPECT_TRUE(test::same_bits(y.row(0), Matrix<TypeParam>::Zero(1, 9)));
  EXPECT_TRUE(test::same_bits(y.row(2), Matrix<TypeParam>::Zero(1, 9)));
  EXPECT_TRUE((y.row(1).array() != 0).all());
  EXPECT_EQ(pooled(Matrix<TypeParam>(0, 4), Sequences::uniform(2, 0)), (Matrix<TypeParam>::Zero(2, 4)));
  EXPECT_EQ(pooled(Matrix<TypeParam>(0, 4), Sequences::uniform(0, 5)).rows(), 0);
}

TYPED_TEST(MeanOverTokensOf, PoolsEachSequenceIndependently) {
  const auto x = test::random_matrix<TypeParam>(40, 13, 4);
  const Sequences sequences = Sequences::of_lengths({5, 20, 15});
  const Matrix<TypeParam> whole = pooled(x, sequences);
  for (Index b = 0; b < 3; ++b) {
    const Matrix<TypeParam> alone = x.middleRows(sequences.offset(b), sequences.length(b));
    EXPECT_TRUE(test::same_bits(pooled(alone, Sequences::single(alone.rows())), whole.row(b)));
  }
  EXPECT_TRUE(test::same_bits(pooled(x, sequences, 3), whole));
}

TYPED_TEST(MeanOverTokensOf, ReadsAndWritesBlocksOfLargerMatrices) {
  const auto larger = test::random_matrix<TypeParam>(8, 30, 5);
  const Matrix<TypeParam> x = larger.block(1, 4, 6, 11);
  const Workspace<TypeParam> workspace;
  Matrix<TypeParam> y = Matrix<TypeParam>::Constant(4, 20, -7);
  mean_over_tokens<TypeParam>(larger.block(1, 4, 6, 11), Sequences::uniform(2, 3), y.block(1, 3, 2, 11), workspace);
  EXPECT_TRUE(test::same_bits(y.block(1, 3, 2, 11), pooled(x, Sequences::uniform(2, 3))));
  y.block(1, 3, 2, 11).setConstant(-7);
  EXPECT_TRUE((y.array() == TypeParam{-7}).all());
}

/// A model without parameters.
struct Nothing {
  static constexpr auto fields() { return Fields(); }
};

/// Expects that f(run, model, x) is y in a batch and on a tape, with correct gradients, even if two calls add to that of x.
template <class Model, class F>
void expect_pooled(const Model& model, const Sequences& sequences, const Matrix<double>& x, const Matrix<double>& y,
                   const F& f) {
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, sequences);
  EXPECT_TRUE(test::same_bits(run[f(run, model, RunMatrix<double>(input_view<double>(x)))], y));
  Tape<double> tape;
  Model gradient = zeros_like(model);
  tape.begin(model, gradient);
  Recording<double> recording(tape, sequences);
  EXPECT_TRUE(test::same_bits(tape[f(recording, model, tape.input(x))], y));
  for (const bool twice : {false, true}) {
    test::expect_gradients(model, x, [&](Tape<double>& step, const Model& own, Variable input) {
      Recording<double> again(step, sequences);
      const Variable once = f(again, own, input);
      return twice ? multiply(again, once, f(again, own, input)) : once;
    });
  }
}

const auto mean = [](auto& run, const auto&, const auto& x) { return mean_over_tokens(run, x); };
const auto first = [](auto& run, const auto&, const auto& x) { return first_tokens(run, x); };

TEST(Pooling, OpsEqualTheirFormulasWithCorrectGradients) {
  const auto x = test::random_matrix<double>(20, 5, 1);
  for (const Sequences& sequences : {Sequences::of_lengths({7, 1, 12}), Sequences::uniform(4, 5)}) {
    expect_pooled(Nothing(), sequences, x, pooled(x, sequences), mean);
    Matrix<double> heads(sequences.count(), 5);
    for (Index b = 0; b < sequences.count(); ++b) {
      heads.row(b) = x.row(sequences.offset(b));
    }
    expect_pooled(Nothing(), sequences, x, heads, first);
  }
  const Sequences with_empty = Sequences::of_lengths({0, 20, 0});
  expect_pooled(Nothing(), with_empty, x, pooled(x, with_empty), mean);
}

TEST(Pooling, RefusesMismatchedRowsAndEmptySequences) {
  const auto x = test::random_matrix<double>(20, 5, 1);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> longer(workspace, Sequences::single(21)), empty(workspace, Sequences::of_lengths({20, 0}));
  const auto message = [&](Batch<double>& run, const auto& f) {
    return test::message_of<ShapeError>([&] { f(run, Nothing(), RunMatrix<double>(input_view<double>(x))); });
  };
  const std::string rows =
      ": x has 20 rows, but the sequences cover 1 sequence × 21 tokens. Every row must belong to exactly one "
      "sequence.";
  EXPECT_EQ(message(longer, mean), "mean_over_tokens" + rows);
  EXPECT_EQ(message(longer, first), "first_tokens" + rows);
  EXPECT_EQ(message(empty, first), "first_tokens: sequence 1 is empty.");
}

struct Token {
  Vector<double> token = test::random_vector<double>(5, 2);
  static constexpr auto fields() { return Fields(field("token", &Token::token, Role::position)); }
};

TEST(Prepend, PutsARowBeforeEachSequence) {
  const auto x = test::random_matrix<double>(20, 5, 1);
  const Token model;
  for (const Sequences& sequences : {Sequences::of_lengths({7, 0, 1, 12}), Sequences::uniform(4, 5)}) {
    Matrix<double> expected(20 + sequences.count(), 5);
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b), length = sequences.length(b);
      expected.row(offset + b) = model.token.transpose();
      expected.middleRows(offset + b + 1, length) = x.middleRows(offset, length);
    }
    expect_pooled(model, sequences, x, expected,
                  [](auto& any, const Token& own, const auto& rows) { return prepend(any, own.token, rows); });
  }
}

TEST(Gather, KeepsTheOrderAndSumsGradientsOfRepeatedRows) {
  const auto x = test::random_matrix<double>(20, 5, 1);
  static const std::vector<Index> rows{7, 0, 19, 7};  // one row twice
  Matrix<double> expected(4, 5);
  expected << x.row(7), x.row(0), x.row(19), x.row(7);
  const auto select = [](auto& run, const auto&, const auto& all) { return gather(run, all, rows); };
  expect_pooled(Nothing(), Sequences::of_lengths({7, 13}), x, expected, select);

  Workspace<double> workspace;
  Batch<double> run(workspace, Sequences::single(20));
  for (const Index wrong : {Index{-1}, Index{20}}) {
    const std::vector<Index> one{3, wrong};
    EXPECT_EQ(test::message_of<ArgumentError>([&] { gather(run, RunMatrix<double>(input_view<double>(x)), one); }),
              text("gather: rows[1] is ", wrong, ", expected 0 … 19."));
  }
}

}  // namespace
}  // namespace gated::pool_test
