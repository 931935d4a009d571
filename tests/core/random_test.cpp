#include "gated/core/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gated::random_test {
namespace {

TEST(Random, MatchesTheReferenceGenerator) {
  Random random(Random::State{1, 2, 3, 4});
  for (const std::uint64_t expected :
       {std::uint64_t{41943041}, std::uint64_t{58720359}, std::uint64_t{3588806011781223}, std::uint64_t{3591011842654386},
        std::uint64_t{9228616714210784205u}, std::uint64_t{9973669472204895162u}}) {
    EXPECT_EQ(random.bits(), expected);
  }
}

TEST(Random, ReproducesBitsOnEveryPlatform) {
  Random zero, one(1), last(~std::uint64_t{0});
  for (const std::uint64_t expected : {0x53175d61490b23dfu, 0x61da6f3dc380d507u, 0x5c0fdf91ec9a7bfcu, 0x02eebf8c3bbe5e1au}) {
    EXPECT_EQ(zero.bits(), expected);
  }
  EXPECT_EQ(one.bits(), 0xcfc5d07f6f03c29bu);
  EXPECT_EQ(one.bits(), 0xbf424132963fe08du);
  EXPECT_EQ(last.bits(), 0x56ccf8ce948e27b2u);
}

TEST(Random, ReproducesUniformAndNormalSamples) {
  Random uniform(7), normal(7);
  for (const double expected : {0x1.c583400555d20p-5, 0x1.607e46efd274cp-3, 0x1.6f66236761a8bp-1}) {
    EXPECT_EQ(uniform.uniform(), expected);
  }
  for (const double expected : {-0x1.c4c2d750fa1aap-2, -0x1.9e78a8a899f06p+0, -0x1.0eabb9794c30dp+0, -0x1.4549c620e6e71p-1}) {
    EXPECT_EQ(normal.normal(), expected);
  }
}

TEST(Random, ContinuesFromASavedState) {
  Random random(5);
  random.normal();
  Random continued(random.state());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(continued.normal(), random.normal());
  }
  EXPECT_EQ(continued.state(), random.state());
}

TEST(Random, IsUniformInTheHalfOpenUnitInterval) {
  Random random(11);
  const int count = 200000;
  double sum = 0, squares = 0, least = 1, largest = 0;
  for (int i = 0; i < count; ++i) {
    const double x = random.uniform();
    sum += x;
    squares += x * x;
    least = std::min(least, x);
    largest = std::max(largest, x);
  }
  EXPECT_GE(least, 0.0);
  EXPECT_LT(largest, 1.0);
  EXPECT_LT(least, 1e-4);
  EXPECT_GT(largest, 1 - 1e-4);
  EXPECT_NEAR(sum / count, 0.5, 0.003);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.003);
}

TEST(Random, HasTheMomentsOfTheNormalDistribution) {
  Random random(13);
  const int count = 400000;
  double first = 0, second = 0, third = 0, fourth = 0;
  int within_one = 0, beyond_three = 0;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    first += x;
    second += x * x;
    third += x * x * x;
    fourth += x * x * x * x;
    within_one += std::abs(x) < 1;
    beyond_three += std::abs(x) > 3;
  }
  EXPECT_NEAR(first / count, 0, 0.006);
  EXPECT_NEAR(second / count, 1, 0.01);
  EXPECT_NEAR(third / count, 0, 0.02);
  EXPECT_NEAR(fourth / count, 3, 0.08);
  EXPECT_NEAR(static_cast<double>(within_one) / count, 0.6826895, 0.003);
  EXPECT_NEAR(static_cast<double>(beyond_three) / count, 0.0026998, 0.0004);
}

TEST(FillNormal, ScalesByTheStandardDeviation) {
  std::vector<double> values(50000);
  Random random(17);
  fill_normal(std::span<double>(values), 0.02, random);
  double squares = 0;
  for (const double x : values) {
    squares += x * x;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), 0.02, 0.0003);
}

TEST(FillUniform, StaysWithinTheBound) {
  std::vector<float> values(50000);
  Random random(19);
  fill_uniform(std::span<float>(values), 0.25, random);
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -0.25f);
  EXPECT_LE(*largest, 0.25f);
  EXPECT_LT(*least, -0.249f);
  EXPECT_GT(*largest, 0.249f);
}

TEST(Fill, DrawsNothingForAnEmptySpan) {
  Random random(23);
  const Random::State before = random.state();
  fill_normal(std::span<float>(), 1.0, random);
  fill_uniform(std::span<float>(), 1.0, random);
  EXPECT_EQ(random.state(), before);
}

}  // namespace
}  // namespace gated::random_test
