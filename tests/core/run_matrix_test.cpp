#include "gated/core/run_matrix.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <vector>

#include "gated/core/run.hpp"
#include "gated/layers/layer.hpp"
#include "tests/core/numbers.hpp"

namespace gated::run_matrix_test {
namespace {

using test::random_matrix;
using test::same_bits;
using R = RunMatrix<float>;
using M = Matrix<float>;

TEST(RunMatrix, DoesNotOwnTheCallersMemory) {
  M x = random_matrix<float>(4, 6, 1);
  const R rows{MatrixView<float>(x)};
  EXPECT_EQ(rows.data, x.data());
  EXPECT_FALSE(rows.is_owned());
  EXPECT_EQ(rows.use(), nullptr);
  EXPECT_FALSE(rows.sharing(rows.columns(1, 2)).is_owned());
  EXPECT_FALSE((std::is_convertible_v<MatrixView<float>, R>)) << "explicitly only";
  EXPECT_FALSE(R());
  EXPECT_FALSE(R().is_owned());
}

TEST(RunMatrix, IsOwnedUnlessShared) {
  M x = random_matrix<float>(4, 6, 1);
  MatrixUse use;
  {
    const R rows(x, &use);
    EXPECT_TRUE(rows.is_owned());
    std::optional<R> copy = rows;
    EXPECT_EQ(copy->data, x.data()) << "a copy shares memory";
    EXPECT_FALSE(rows.is_owned());
    EXPECT_FALSE(copy->is_owned());
    copy.reset();
    EXPECT_TRUE(rows.is_owned());
    const R part = rows.sharing(rows.columns(1, 2));
    EXPECT_EQ(part.data, x.data() + 1);
    EXPECT_FALSE(rows.is_owned() || part.is_owned());
    EXPECT_EQ(use.count, 2);
  }
  EXPECT_EQ(use.count, 0) << "no handle is left";
}

TEST(RunMatrix, TransfersOwnershipOnMove) {
  M x = random_matrix<float>(4, 6, 1), y = random_matrix<float>(4, 6, 2);
  MatrixUse use, other;
  R rows(x, &use);
  R moved = std::move(rows);
  EXPECT_FALSE(rows);
  EXPECT_FALSE(rows.is_owned());
  EXPECT_TRUE(moved.is_owned());
  EXPECT_EQ(moved.data, x.data());
  moved = R(y, &other);
  EXPECT_EQ(use.count, 0) << "assignment releases the old rows";
  EXPECT_TRUE(moved.is_owned());
  rows = moved;
  EXPECT_FALSE(moved.is_owned());
  R& same = moved;
  moved = std::move(same);
  EXPECT_EQ(moved.data, y.data()) << "self-move";
  moved = {};
  EXPECT_TRUE(rows.is_owned());
  EXPECT_TRUE(same_bits(ConstView<float>(rows), y)) << "the elements are unchanged";
}

TEST(RunMatrix, OutlivesALayersBodyIfMadeOutsideIt) {
  M x = random_matrix<float>(4, 6, 1);
  R callers{MatrixView<float>(x)};
  EXPECT_TRUE(callers.outlive(1));
  EXPECT_EQ(callers.data, x.data());
  MatrixUse use{.depth = 2};
  R rows(x, &use);
  EXPECT_FALSE(rows.outlive(1));
  EXPECT_FALSE(rows.outlive(2));
  EXPECT_TRUE(rows.is_owned()) << "unchanged";
  EXPECT_TRUE(rows.outlive(3));
  EXPECT_TRUE(rows.is_owned());
}

/// A layer's body may split a matrix that the body of an outer layer made.
TEST(RunMatrix, PartsOutliveALayersBodyIfTheirWholeDoes) {
  M x = random_matrix<float>(4, 6, 1);
  MatrixUse whole{.depth = 1}, use{.depth = 3, .whole = &whole};
  R part(MatrixView<float>(x).columns(0, 3), &use);
  EXPECT_EQ(whole.count, 1) << "a part keeps its whole alive";
  EXPECT_FALSE(part.outlive(1));
  EXPECT_EQ(part.use(), &use);
  EXPECT_TRUE(part.outlive(3));
  EXPECT_EQ(part.use(), &whole);
  EXPECT_EQ(part.columns(), 3);
  EXPECT_EQ(use.count, 0);
  EXPECT_TRUE(part.is_owned());
  part = {};
  EXPECT_EQ(whole.count, 0);
}

/// A run and the frame that holds its memory.
struct Running {
  Workspace<float> workspace;
  Workspace<float>::Frame frame = workspace.frame();
  Batch<float> run{workspace, Sequences::single(4)};
};

TEST(Split, MakesOwnedPartsOfAMovedMatrix) {
  Running r;
  R whole = r.run.make(4, 6);
  const float* const data = whole.data;
  MatrixUse* const use = whole.use();
  auto [left, right] = r.run.split(std::move(whole), Index{4}, Index{2});
  EXPECT_EQ(left.data, data);
  EXPECT_EQ(right.data, data + 4);
  EXPECT_EQ(left.columns(), 4);
  EXPECT_EQ(right.columns(), 2);
  EXPECT_TRUE(left.is_owned() && right.is_owned());
  const R copy = left;
  EXPECT_FALSE(left.is_owned());
  EXPECT_TRUE(right.is_owned()) << "parts are independent";
  EXPECT_EQ(r.run.reuse(right).data, right.data);
  EXPECT_EQ(use->count, 2) << "each part keeps the whole alive";
  right = {};
  EXPECT_EQ(use->count, 1);
}

TEST(Split, MakesUnownedPartsOfASharedOrBorrowedMatrix) {
  Running r;
  M x = random_matrix<float>(4, 6, 1);
  std::optional<R> whole = r.run.make(4, 6);
  auto parts = r.run.split(*whole, Index{4}, Index{2});
  EXPECT_FALSE(parts[0].is_owned() || parts[1].is_owned() || whole->is_owned());
  whole.reset();
  EXPECT_FALSE(parts[0].is_owned()) << "the parts still share the whole";
  parts[1] = {};
  EXPECT_TRUE(parts[0].is_owned());
  R callers{MatrixView<float>(x)};
  const auto [left, right] = r.run.split(std::move(callers), Index{4}, Index{2});
  EXPECT_EQ(right.data, x.data() + 4);
  EXPECT_FALSE(left.is_owned() || right.is_owned());
}

TEST(Split, SplitsPartsAgain) {
  Running r;
  R whole = r.run.make(4, 6);
  MatrixUse* const use = whole.use();
  {
    auto parts = r.run.split(std::move(whole), Index{4}, Index{2});
    const auto smaller = r.run.split(std::move(parts[0]), Index{1}, Index{3});
    EXPECT_TRUE(smaller[0].is_owned() && smaller[1].is_owned() && parts[1].is_owned());
    EXPECT_EQ(use->count, 2);
    parts[1] = {};
    EXPECT_EQ(use->count, 1);
  }
  EXPECT_EQ(use->count, 0);
}

TEST(InRun, MovesRvaluesAndSharesLvalues) {
  M x = random_matrix<float>(4, 6, 1);
  MatrixUse use;
  R rows(x, &use);
  const R& read_only = rows;
  EXPECT_FALSE(detail::in_run(rows).is_owned());
  EXPECT_FALSE(detail::in_run(read_only).is_owned());
  EXPECT_TRUE(rows.is_owned());
  const R&& moved = detail::in_run(std::move(rows));
  EXPECT_EQ(&moved, &rows);
  EXPECT_EQ(detail::in_run(MatrixView<float>(x)).use(), nullptr);
  const std::vector<int> ids{1, 2};
  EXPECT_EQ(detail::in_run(std::span<const int>(ids)).data(), ids.data());
}

}  // namespace
}  // namespace gated::run_matrix_test
