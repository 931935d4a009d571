#include "gated/core/matrix_view.hpp"

#include <gtest/gtest.h>

#include <set>

#include "gated/core/arena.hpp"
#include "gated/core/random.hpp"
#include "tests/core/numbers.hpp"

namespace gated::matrix_view_test {
namespace {

using test::random_matrix;

template <class From, class To>
constexpr bool converts = std::is_convertible_v<From, To>;

TEST(MatrixView, IsFalseByDefault) {
  Matrix<float> x(2, 3);
  EXPECT_FALSE(MatrixView<float>());
  EXPECT_FALSE(MatrixView<const float>());
  EXPECT_TRUE(MatrixView<float>(x));
  EXPECT_TRUE(MatrixView<const float>(x));
}

TEST(MatrixView, HasEmptyPartsIfEmpty) {
  const Matrix<float> no_tokens(0, 8);
  for (const MatrixView<const float>& rows : {MatrixView<const float>(), MatrixView<const float>(no_tokens)}) {
    EXPECT_FALSE(rows.columns(4, 2));
    EXPECT_FALSE(rows.rows(3, 0).columns(1, 1));
    EXPECT_EQ(rows.columns(4, 2).columns(), 2);
  }
}

TEST(MatrixView, RefersToMatricesMapsViewsAndBlocks) {
  Matrix<double> x = random_matrix<double>(5, 7, 1);
  const Matrix<double>& read_only = x;
  View<double> view = x;
  const ConstView<double> seen = x;
  Arena<double> arena;
  const auto frame = arena.frame();
  MatrixMap<double> map = arena.matrix(5, 512);
  const auto expect = [](const MatrixView<const double>& rows, const double* data, Index count, Index columns, Index stride) {
    EXPECT_EQ(rows.data, data);
    EXPECT_EQ(rows.rows(), count);
    EXPECT_EQ(rows.columns(), columns);
    EXPECT_EQ(rows.stride, stride);
  };
  expect(MatrixView<double>(x), x.data(), 5, 7, 7);
  expect(MatrixView<const double>(read_only), x.data(), 5, 7, 7);
  expect(view, x.data(), 5, 7, 7);
  expect(seen, x.data(), 5, 7, 7);
  expect(MatrixView<double>(x.block(1, 2, 3, 4)), &x(1, 2), 3, 4, 7);
  expect(map, map.data(), 5, 512, map.outerStride());
  expect(input_view<double>(seen), x.data(), 5, 7, 7);
}

TEST(MatrixView, ConvertsToConstButNotBack) {
  EXPECT_TRUE((converts<MatrixView<float>, MatrixView<const float>>));
  EXPECT_FALSE((converts<MatrixView<const float>, MatrixView<float>>));
  EXPECT_TRUE((converts<MatrixView<float>, View<float>>));
  EXPECT_TRUE((converts<MatrixView<const float>, ConstView<float>>));
  EXPECT_FALSE((converts<MatrixView<const float>, View<float>>));
  EXPECT_FALSE((converts<MatrixView<float>, bool>)) << "explicitly only";
}

TEST(MatrixView, ConvertsToViewsOfTheSameMemory) {
  Matrix<float> x = random_matrix<float>(4, 6, 1);
  const MatrixView<float> rows = x.block(1, 2, 3, 4);
  View<float> view = rows;
  EXPECT_EQ(view.data(), &x(1, 2));
  EXPECT_TRUE(test::same_bits(view, x.block(1, 2, 3, 4)));
  EXPECT_TRUE(test::same_bits(ConstView<float>(MatrixView<const float>(rows)), x.block(1, 2, 3, 4)));
}

TEST(MatrixView, RebindsOnAssignment) {
  Matrix<float> x = Matrix<float>::Zero(2, 2), y = Matrix<float>::Ones(2, 2);
  MatrixView<float> rows = x;
  rows = y;
  EXPECT_EQ(rows.data, y.data());
  EXPECT_EQ(x(0, 0), 0);
}

TEST(MatrixView, HasPartsThatShareItsMemory) {
  Matrix<float> x = random_matrix<float>(6, 8, 1);
  const MatrixView<float> rows(x);
  const auto expect = [&](const MatrixView<float>& part, Index row, Index column, Index count, Index columns) {
    EXPECT_EQ(part.data, &x(row, column));
    EXPECT_TRUE(test::same_bits(View<float>(part), x.block(row, column, count, columns)));
  };
  expect(rows.columns(3, 4), 0, 3, 6, 4);
  expect(rows.rows(2, 3), 2, 0, 3, 8);
  expect(rows.block(1, 2, 3, 4), 1, 2, 3, 4);
  expect(rows.rows(2, 3).columns(3, 4).block(1, 1, 1, 2), 3, 4, 1, 2);
  EXPECT_FALSE(MatrixView<float>().block(1, 2, 3, 4)) << "a block of an empty view";
}

/// The reference for overlap(): compares the addresses of all elements, for any strides.
bool literal_overlap(const MatrixView<const float>& a, const MatrixView<const float>& b) {
  std::set<const float*> numbers;
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.columns(); ++j) {
      numbers.insert(a.data + i * a.stride + j);
    }
  }
  for (Index i = 0; i < b.rows(); ++i) {
    for (Index j = 0; j < b.columns(); ++j) {
      if (numbers.count(b.data + i * b.stride + j) > 0) {
        return true;
      }
    }
  }
  return false;
}

TEST(MatrixView, OverlapMeansASharedElement) {
  Matrix<float> x = random_matrix<float>(12, 10, 1);
  Random random(1);
  const auto below = [&](Index bound) { return static_cast<Index>(random.uniform() * static_cast<double>(bound)); };
  int overlapping = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto some = [&] {
      const Index row = below(12), column = below(10);
      const MatrixView<const float> part(&x(row, column), below(12 - row + 1), below(10 - column + 1), 10);
      const bool every_other = below(3) == 0;
      return every_other ? MatrixView<const float>(part.data, part.rows() / 2, part.columns(), 20) : part;
    };
    const MatrixView<const float> a = some(), b = some();
    EXPECT_EQ(overlap<float>(a, b), literal_overlap(a, b)) << i;
    overlapping += literal_overlap(a, b) ? 1 : 0;
  }
  EXPECT_GT(overlapping, 100);
  EXPECT_LT(overlapping, 1000);
}

TEST(MatrixView, FillAndAssignStayWithinBounds) {
  Matrix<float> larger = Matrix<float>::Constant(6, 8, -7);
  const MatrixView<float> rows = larger.block(1, 2, 3, 4);
  const Matrix<float> x = random_matrix<float>(3, 9, 1);
  rows.assign(x.middleCols(5, 4));
  EXPECT_TRUE((larger.block(1, 2, 3, 4).array() == x.middleCols(5, 4).array()).all());
  rows.assign({x.data(), 3, 4, 0});  // repeats one row
  EXPECT_TRUE((larger.block(1, 2, 3, 4).array() == x.row(0).head(4).replicate(3, 1).array()).all());
  rows.fill(2);
  EXPECT_TRUE((larger.block(1, 2, 3, 4).array() == 2).all());
  rows.fill(-7);
  EXPECT_TRUE((larger.array() == -7).all());
}

TEST(MatrixView, AllowsInPlaceOutputsButNoPartialOverlap) {
  Matrix<float> x = random_matrix<float>(6, 8, 1);
  const auto expect = [&](auto from, auto to) { expect_apart<float>("f", from, to); };
  EXPECT_NO_THROW(expect(x, View<float>(x)));
  EXPECT_NO_THROW(expect(x.leftCols(4), View<float>(x.rightCols(4))));
  EXPECT_NO_THROW(expect(x.row(2), View<float>(x.middleRows(2, 1))));
  EXPECT_EQ(test::message_of<ArgumentError>([&] { expect(x.topRows(4), View<float>(x.middleRows(1, 4))); }),
            "f: y partially overlaps x, 4 × 8, and would overwrite unread input. Use separate memory, or y = x.");
  EXPECT_THROW(expect(x.leftCols(4), View<float>(x.leftCols(3))), ArgumentError);
}

}  // namespace
}  // namespace gated::matrix_view_test
