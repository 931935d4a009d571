#include "gated/core/count.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/numbers.hpp"

namespace gated::count_test {
namespace {

constexpr Index most = Count::most;
constexpr int half = std::numeric_limits<Index>::digits / 2;  // of the bits

TEST(Count, AddsAndMultipliesAsNumbersDo) {
  EXPECT_EQ((Count(3) + 4).value(), 7);
  EXPECT_EQ((Count(3) * 4).value(), 12);
  EXPECT_EQ((Count(most) * 0).value(), 0);
  EXPECT_EQ((Count(most) * 1).value(), most);
  EXPECT_EQ((Count(most - 1) + 1).value(), most);
  EXPECT_EQ((Count(Index{1} << half) * (Index{1} << half)).value(), Index{1} << 2 * half);
}

TEST(Count, StaysAtTheLargestIndex) {
  EXPECT_EQ((Count(most) + 1).value(), most);
  EXPECT_EQ((Count(1) + most).value(), most);
  EXPECT_EQ((Count(most) + most).value(), most);
  EXPECT_EQ((Count(Index{1} << (half + 1)) * (Index{1} << half)).value(), most);
  EXPECT_EQ((Count(most) * most * most + 1).value(), most);
}

TEST(Count, TakesSizesBelowZeroForZero) {
  EXPECT_EQ((Count(-5) + 2).value(), 2);
  EXPECT_EQ((Count(-5) * -5).value(), 0);
  EXPECT_EQ(Count(std::numeric_limits<Index>::min()).value(), 0);
}

TEST(ExpectMemory, RefusesWhatTheSystemDoesNotGive) {
  EXPECT_NO_THROW(expect_memory<float>("x", 1000, 1000));
  EXPECT_NO_THROW(expect_memory<double>("x", 0, most));
  EXPECT_NO_THROW(expect_memory<double>("x", -5));
  if (sizeof(void*) < 8) {
    GTEST_SKIP() << "a process of 32 bits may get all the bytes that an Index counts";
  }
  const Index large = most / 64;  // bytes, of which the system has fewer
  EXPECT_EQ(test::message_of<MemoryError>([&] {
              expect_memory<float>({"Layer", "call"}, large);
            }),
            text("Layer::call: ", large, " × 1 elements take ", 4 * large,
                 " bytes, which cannot be allocated. Choose smaller sizes."));
  EXPECT_EQ(test::message_of<MemoryError>([&] { expect_memory<double>("Layer", large, most); }),
            text("Layer: ", large, " × ", most, " elements take more than ", most,
                 " bytes, which cannot be allocated. Choose smaller sizes."));
}

}  // namespace
}  // namespace gated::count_test
