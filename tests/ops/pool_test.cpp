#include "gated/ops/pool.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/numbers.hpp"

namespace gated {
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

TYPED_TEST(MeanOverTokensOf, IsTheMeanOfEachSequence) {
  Matrix<TypeParam> x(5, 2), expected(2, 2);
  x << 1, 2, 3, 6, 10, 0, 20, 0, 30, 6;
  expected << 2, 4, 20, 2;
  EXPECT_TRUE(((pooled<TypeParam>(x, Sequences::of_lengths({2, 3})) - expected).array().abs() < TypeParam(1e-5)).all());
}

TEST(MeanOverTokens, IsAsExactForManyTokensAsForOne) {
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

TYPED_TEST(MeanOverTokensOf, OfOneTokenIsThatToken) {
  const auto x = test::random_matrix<TypeParam>(3, 21, 2);
  EXPECT_TRUE(test::same_bits(pooled(x, Sequences::uniform(3, 1)), x));
}

TYPED_TEST(MeanOverTokensOf, OfAnEmptySequenceIsZero) {
  const auto x = test::random_matrix<TypeParam>(3, 9, 3);
  const Matrix<TypeParam> y = pooled(x, Sequences::of_lengths({0, 3, 0}));
  EXPECT_TRUE(test::same_bits(y.row(0), Matrix<TypeParam>::Zero(1, 9)));
  EXPECT_TRUE(test::same_bits(y.row(2), Matrix<TypeParam>::Zero(1, 9)));
  EXPECT_TRUE((y.row(1).array() != 0).all());
  EXPECT_EQ(pooled(Matrix<TypeParam>(0, 4), Sequences::uniform(2, 0)), (Matrix<TypeParam>::Zero(2, 4)));
  EXPECT_EQ(pooled(Matrix<TypeParam>(0, 4), Sequences::uniform(0, 5)).rows(), 0);
}

TYPED_TEST(MeanOverTokensOf, GivesASequenceTheSameBitsWhateverStandsAroundIt) {
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

}  // namespace
}  // namespace gated
