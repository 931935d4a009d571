#include "gated/ops/row_loops.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/numbers.hpp"

namespace gated::row_loops_test {
namespace {

TEST(ForEachRow, VisitsEachRowOnce) {
  const Workspace<float> workspace(Threads{3});
  for (const Index rows : {Index{0}, Index{1}, rows_per_task - 1, rows_per_task, rows_per_task + 1, 5 * rows_per_task + 3}) {
    std::vector<int> visits(static_cast<std::size_t>(rows), 0);
    for_each_row(rows, workspace, [&](Index row) { ++visits[static_cast<std::size_t>(row)]; });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1)) << rows;
  }
}

TEST(SumOfRow, AddsEachVectorOnce) {
  for (Index channels = 0; channels <= 200; ++channels) {
    const auto x = test::random_matrix<double>(1, channels, 1);
    const double sum = sum_of_row<double>(
        channels, [&](Simd<double> total, Index j, Index lanes) { return total + Simd<double>::load(x.data() + j, lanes); });
    EXPECT_NEAR(sum, x.sum(), 1e-13 * (1 + x.cwiseAbs().sum())) << channels;
  }
}

}  // namespace
}  // namespace gated::row_loops_test
