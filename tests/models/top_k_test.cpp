#include "gated/models/top_k.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/numbers.hpp"

namespace gated::top_k_test {
namespace {

std::vector<Index> indices(const Matrix<float>& scores, Index k) {
  std::vector<Index> found;
  for (const auto& [index, score] : top_k<float>(scores, k)) {
    EXPECT_TRUE(score == scores(0, index) || std::isnan(score));
    found.push_back(index);
  }
  return found;
}

TEST(TopK, ReturnsTheLargestScoresInDescendingOrder) {
  const Matrix<float> scores = (Matrix<float>(1, 6) << 3, -1, 7, 7, 0, 5).finished();
  EXPECT_EQ(indices(scores, 3), (std::vector<Index>{2, 3, 5})) << "equal scores in index order";
  EXPECT_EQ(indices(scores, 0), std::vector<Index>());
  EXPECT_EQ(indices(scores, 100), (std::vector<Index>{2, 3, 5, 0, 4, 1}));
}

TEST(TopK, PutsNaNLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Matrix<float> scores = (Matrix<float>(1, 5) << nan, -infinity, 1, nan, infinity).finished();
  EXPECT_EQ(indices(scores, 5), (std::vector<Index>{4, 2, 1, 0, 3}));
}

TEST(TopK, RefusesSeveralRowsAndNegativeCounts) {
  const Matrix<float> two = Matrix<float>::Zero(2, 3);
  EXPECT_EQ(test::message_of<ShapeError>([&] { top_k<float>(two, 1); }), "top_k: scores has 2 rows, expected one.");
  EXPECT_THROW(top_k<float>(two.topRows(1), -1), ArgumentError);
}

}  // namespace
}  // namespace gated::top_k_test
