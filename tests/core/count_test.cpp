#include "gated/core/count.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace gated::count_test {
namespace {

constexpr Index most = Count::most;
constexpr int half = std::numeric_limits<Index>::digits / 2;  // half the bits

TEST(Count, AddsAndMultipliesLikeIntegers) {
  EXPECT_EQ((Count(3) + 4).value(), 7);
  EXPECT_EQ((Count(3) * 4).value(), 12);
  EXPECT_EQ((Count(most) * 0).value(), 0);
  EXPECT_EQ((Count(most) * 1).value(), most);
  EXPECT_EQ((Count(most - 1) + 1).value(), most);
  EXPECT_EQ((Count(Index{1} << half) * (Index{1} << half)).value(), Index{1} << 2 * half);
}

TEST(Count, SaturatesAtTheLargestIndex) {
  EXPECT_EQ((Count(most) + 1).value(), most);
  EXPECT_EQ((Count(1) + most).value(), most);
  EXPECT_EQ((Count(most) + most).value(), most);
  EXPECT_EQ((Count(Index{1} << (half + 1)) * (Index{1} << half)).value(), most);
  EXPECT_EQ((Count(most) * most * most + 1).value(), most);
}

TEST(Count, TreatsNegativeSizesAsZero) {
  EXPECT_EQ((Count(-5) + 2).value(), 2);
  EXPECT_EQ((Count(-5) * -5).value(), 0);
  EXPECT_EQ(Count(std::numeric_limits<Index>::min()).value(), 0);
}

}  // namespace
}  // namespace gated::count_test
