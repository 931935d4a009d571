#include "gated/ops/token_shift.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/op.hpp"

namespace gated::token_shift_test {
namespace {

/// Each element encodes its place: 10 · (token + 1) + channel.
Matrix<double> numbered(Index tokens, Index channels) {
  Matrix<double> x(tokens, channels);
  for (Index i = 0; i < tokens; ++i) {
    for (Index j = 0; j < channels; ++j) {
      x(i, j) = static_cast<double>(10 * (i + 1) + j);
    }
  }
  return x;
}

Matrix<double> shifted(const Matrix<double>& x, const Sequences& sequences, Index amount, bool causal) {
  Matrix<double> y = Matrix<double>::Constant(x.rows(), x.cols(), std::numeric_limits<double>::quiet_NaN());
  token_shift<double>(x, sequences, {.amount = amount, .causal = causal}, y);
  return y;
}

TEST(TokenShift, ShiftsTheSecondHalfByOneTokenIfCausal) {
  Matrix<double> expected(3, 4);
  expected << 10, 11, 0, 0,  //
      20, 21, 12, 13,        //
      30, 31, 22, 23;
  EXPECT_EQ(shifted(numbered(3, 4), Sequences::single(3), 1, true), expected);
}

TEST(TokenShift, ShiftsFromBothNeighboursIfNotCausal) {
  Matrix<double> expected(3, 3);
  expected << 20, 11, 0,  // first third of the channels: next token; last third: previous token
      30, 21, 12,         //
      0, 31, 22;
  EXPECT_EQ(shifted(numbered(3, 3), Sequences::single(3), 1, false), expected);
}

TEST(TokenShift, KeepsTheRemainingChannels) {
  Matrix<double> expected(2, 5);
  expected << 20, 11, 0, 13, 14,  //
      0, 21, 12, 23, 24;
  EXPECT_EQ(shifted(numbered(2, 5), Sequences::single(2), 1, false), expected);
  EXPECT_EQ(shifted(numbered(2, 2), Sequences::single(2), 1, false), numbered(2, 2)) << "fewer channels than shifts";
}

TEST(TokenShift, IsTheIdentityForAmountZero) {
  EXPECT_EQ(shifted(numbered(3, 4), Sequences::single(3), 0, true), numbered(3, 4));
  EXPECT_EQ(shifted(numbered(3, 4), Sequences::single(3), 0, false), numbered(3, 4));
}

TEST(TokenShift, ReadsZerosOutsideTheSequence) {
  Matrix<double> expected(2, 4);
  expected << 10, 0, 0, 0,  //
      20, 11, 0, 0;
  EXPECT_EQ(shifted(numbered(2, 4), Sequences::single(2), 3, true), expected);
  Matrix<double> around(1, 5);
  around << 0, 0, 12, 0, 0;
  EXPECT_EQ(shifted(numbered(1, 5), Sequences::single(1), 2, false), around);
}

TEST(TokenShift, NeverCrossesSequences) {
  const Matrix<double> x = numbered(6, 7);
  const Sequences ragged = Sequences::of_lengths({3, 0, 1, 2});
  for (const bool causal : {true, false}) {
    for (const Index amount : {1, 2, 3}) {
      const Matrix<double> y = shifted(x, ragged, amount, causal);
      for (Index b = 0; b < ragged.count(); ++b) {
        const Matrix<double> alone = x.middleRows(ragged.offset(b), ragged.length(b));
        EXPECT_EQ(y.middleRows(ragged.offset(b), ragged.length(b)),
                  shifted(alone, Sequences::single(ragged.length(b)), amount, causal))
            << "sequence " << b << ", amount " << amount;
      }
    }
  }
}

TEST(TokenShift, HandlesEmptyInput) {
  EXPECT_EQ(shifted(Matrix<double>(0, 4), Sequences::of_lengths({0, 0}), 1, false).rows(), 0);
  EXPECT_EQ(shifted(Matrix<double>(0, 4), Sequences::uniform(0, 4), 1, true).rows(), 0);
}

TEST(TokenShift, ReadsAndWritesBlocksOfLargerMatrices) {
  const Matrix<double> larger = numbered(5, 9), x = larger.block(1, 2, 3, 4);
  Matrix<double> y = Matrix<double>::Constant(5, 6, -7);
  token_shift<double>(larger.block(1, 2, 3, 4), Sequences::single(3), {.amount = 1, .causal = true}, y.block(1, 1, 3, 4));
  EXPECT_EQ(y.block(1, 1, 3, 4), shifted(x, Sequences::single(3), 1, true));
  y.block(1, 1, 3, 4).setConstant(-7);
  EXPECT_TRUE((y.array() == -7).all());
}

TEST(TokenShift, WorksInEveryRunAndStreamsIfCausal) {
  for (const bool causal : {false, true}) {
    for (const Index amount : {0, 1, 2, 5}) {
      const TokenShift shift{.amount = amount, .causal = causal};
      SCOPED_TRACE(testing::Message() << amount << ", causal " << causal);
      const auto op = [shift](auto& run, auto x) { return token_shift(run, x, shift); };
      test::expect_op(op, {.in = 13, .out = 13, .streams = causal});
      const Sequences sequences = Sequences::of_lengths({3, 0, 6});
      const Matrix<double> x = numbered(9, 13);
      Workspace<double> workspace;
      const auto frame = workspace.frame();
      Batch<double> run(workspace, sequences);
      const auto y = token_shift(run, RunMatrix<double>(input_view<double>(x)), shift);
      EXPECT_EQ(Matrix<double>(run[y]), shifted(x, sequences, amount, causal));
      EXPECT_EQ(y.data == x.data(), amount == 0) << "amount 0 copies nothing";
    }
  }
}

/// A token shift as a layer.
auto shift_layer(const TokenShift& shift) {
  const auto f = [shift](auto& run, const auto&, const auto& x) { return token_shift(run, x, shift); };
  return test::Op(test::NoParameters<double>(0), f, 13, 13);
}

TEST(TokenShift, RefusesToStreamIfNotCausal) {
  EXPECT_EQ(
      test::message_of<ArgumentError>([] { shift_layer({.amount = 1}).start(5); }),
      "Op::start: tokens are shifted both ways, so a token's output depends on later tokens and cannot be streamed. Build "
      "it with causal = true.");
}

TEST(ShiftFirstHalf, ShiftsTheFirstHalfByOneTokenAndStreams) {
  const auto op = [](auto& run, const auto& x) { return shift_first_half(run, x); };
  test::expect_op(op, {.in = 13, .out = 13});
  test::expect_op(op, {.in = 1, .out = 1});
  Matrix<double> expected(4, 3);
  expected << 0, 0, 12,  // half of three channels, rounded up: the first two are shifted
      10, 11, 22,        //
      0, 0, 32,          //
      30, 31, 42;
  const Matrix<double> x = numbered(4, 3);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::of_lengths({2, 0, 2}));
  EXPECT_EQ(Matrix<double>(run[shift_first_half(run, RunMatrix<double>(input_view<double>(x)))]), expected);
}

}  // namespace
}  // namespace gated::token_shift_test
