#include "gated/core/rows.hpp"

#include <gtest/gtest.h>

#include "gated/core/arena.hpp"
#include "tests/core/numbers.hpp"

namespace gated {
namespace {

using test::random_matrix;

template <class From, class To>
constexpr bool converts = std::is_convertible_v<From, To>;

TEST(Rows, AreAbsentUnlessTheyAreOfSomething) {
  Matrix<float> x(2, 3);
  EXPECT_FALSE(Rows<float>());
  EXPECT_FALSE(Rows<const float>());
  EXPECT_TRUE(Rows<float>(x));
  EXPECT_TRUE(Rows<const float>(x));
}

TEST(Rows, ReferToMatricesMapsViewsAndBlocksWhereTheyLie) {
  Matrix<double> x = random_matrix<double>(5, 7, 1);
  const Matrix<double>& read_only = x;
  View<double> view = x;
  const ConstView<double> seen = x;
  Arena<double> arena;
  const auto frame = arena.frame();
  MatrixMap<double> map = arena.matrix(5, 512);
  const auto expect = [](const Rows<const double>& rows, const double* data, Index count, Index columns, Index stride) {
    EXPECT_EQ(rows.data, data);
    EXPECT_EQ(rows.count, count);
    EXPECT_EQ(rows.columns, columns);
    EXPECT_EQ(rows.stride, stride);
    EXPECT_FALSE(rows.scratch);
  };
  expect(Rows<double>(x), x.data(), 5, 7, 7);
  expect(Rows<const double>(read_only), x.data(), 5, 7, 7);
  expect(view, x.data(), 5, 7, 7);
  expect(seen, x.data(), 5, 7, 7);
  expect(Rows<double>(x.block(1, 2, 3, 4)), &x(1, 2), 3, 4, 7);
  expect(map, map.data(), 5, 512, map.outerStride());
  expect(input_rows<double>(seen), x.data(), 5, 7, 7);
}

TEST(Rows, ThatMayBeWrittenMayBeReadAndNotTheOtherWayRound) {
  EXPECT_TRUE((converts<Rows<float>, Rows<const float>>));
  EXPECT_FALSE((converts<Rows<const float>, Rows<float>>));
  EXPECT_TRUE((converts<Rows<float>, View<float>>));
  EXPECT_TRUE((converts<Rows<const float>, ConstView<float>>));
  EXPECT_FALSE((converts<Rows<const float>, View<float>>));
  EXPECT_FALSE((converts<Rows<float>, bool>)) << "not by accident";
}

TEST(Rows, AreViewsOfTheSameNumbers) {
  Matrix<float> x = random_matrix<float>(4, 6, 1);
  const Rows<float> rows = x.block(1, 2, 3, 4);
  View<float> view = rows;
  EXPECT_EQ(view.data(), &x(1, 2));
  EXPECT_TRUE(test::same_bits(view, x.block(1, 2, 3, 4)));
  EXPECT_TRUE(test::same_bits(ConstView<float>(Rows<const float>(rows)), x.block(1, 2, 3, 4)));
}

TEST(Rows, AreGivenAnotherMatrixByAssignmentAndNotItsNumbers) {
  Matrix<float> x = Matrix<float>::Zero(2, 2), y = Matrix<float>::Ones(2, 2);
  Rows<float> rows = x;
  rows = y;
  EXPECT_EQ(rows.data, y.data());
  EXPECT_EQ(x(0, 0), 0);
}

TEST(Rows, HavePartsThatAreWhereTheyWere) {
  Matrix<float> x = random_matrix<float>(6, 8, 1);
  const Rows<float> rows(x);
  const auto expect = [&](const Rows<float>& part, Index row, Index column, Index count, Index columns) {
    EXPECT_EQ(part.data, &x(row, column));
    EXPECT_TRUE(test::same_bits(View<float>(part), x.block(row, column, count, columns)));
  };
  expect(rows.part(3, 4), 0, 3, 6, 4);
  expect(rows.middle(2, 3), 2, 0, 3, 8);
  expect(rows.block(1, 2, 3, 4), 1, 2, 3, 4);
  expect(rows.middle(2, 3).part(3, 4).block(1, 1, 1, 2), 3, 4, 1, 2);
  EXPECT_FALSE(Rows<float>().block(1, 2, 3, 4)) << "a block of nothing is absent";
}

TEST(Rows, MayBeOverwrittenWhenTheyAreScratchAndSoMayTheirParts) {
  Matrix<float> x(6, 8);
  const Rows<float> rows(x), scratch = rows.as_scratch();
  EXPECT_FALSE(rows.part(0, 1).scratch || rows.middle(0, 1).scratch || rows.block(0, 0, 1, 1).scratch);
  EXPECT_TRUE(scratch.scratch);
  EXPECT_EQ(scratch.data, x.data());
  EXPECT_TRUE(scratch.part(0, 1).scratch && scratch.middle(0, 1).scratch && scratch.block(0, 0, 1, 1).scratch);
  EXPECT_TRUE(Rows<const float>(scratch).scratch);
}

}  // namespace
}  // namespace gated
