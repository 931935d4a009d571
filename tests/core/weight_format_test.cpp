#include "gated/core/weight_format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace gated::weight_format_test {
namespace {

std::vector<float> numbers(const EncodedWeight& weight) {
  const WeightCodes codes = weight.codes();
  std::vector<float> out;
  for (Index i = 0; i < codes.rows * codes.columns; ++i) {
    out.push_back(codes(i / codes.columns, i % codes.columns));
  }
  return out;
}

TEST(WeightFormat, Bf16RoundsToNearestTiesToEven) {
  const std::vector<float> x{1.0f, 1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, -1.0f - 0x1.01p-8f, 0x1p-133f, 0.0f, -0.0f};
  const auto encoded = EncodedWeight::of(x.data(), 1, 7, WeightFormat::bf16);
  ASSERT_TRUE(encoded.has_value());
  EXPECT_EQ(numbers(*encoded), (std::vector<float>{1.0f, 1.0f, 1.0f + 0x1p-6f, -1.0f - 0x1p-7f, 0x1p-133f, 0.0f, -0.0f}));
  EXPECT_EQ(encoded->bytes().size(), 14u);
  EXPECT_TRUE(encoded->scales().empty());
}

TEST(WeightFormat, Int8RoundsToMultiplesOfTheScale) {
  // s = 254 / 127 = 2. The quotients 127, -0.5, 0.5, 1.5 and 2.5 are rounded to nearest, ties to even.
  const std::vector<float> x{254, -1, 1, 3, 5};
  const auto encoded = EncodedWeight::of(x.data(), 1, 5, WeightFormat::int8_rows);
  ASSERT_TRUE(encoded.has_value());
  EXPECT_EQ(encoded->scales(), std::vector<float>{2});
  EXPECT_EQ(numbers(*encoded), (std::vector<float>{254, 0, 0, 4, 4}));
}

TEST(WeightFormat, Int8HasAScalePerBlockOfARow) {
  constexpr Index rows = 2, columns = 70;  // blocks of 32, 32 and 6
  std::vector<float> x(rows * columns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 37) % 101) - 50;
  }
  x[32] = 1000;   // row 0, block 1
  x[139] = -500;  // row 1, block 2
  const auto encoded = EncodedWeight::of(x.data(), rows, columns, WeightFormat::int8);
  ASSERT_TRUE(encoded.has_value());
  ASSERT_EQ(encoded->scales().size(), 6u);
  const auto got = numbers(*encoded);
  for (Index row = 0; row < rows; ++row) {
    for (Index first = 0; first < columns; first += 32) {
      float largest = 0;
      for (Index k = first; k < std::min(first + 32, columns); ++k) {
        largest = std::max(largest, std::abs(x[static_cast<std::size_t>(row * columns + k)]));
      }
      EXPECT_EQ(encoded->codes().scale(row, first / 32), largest / 127);
      for (Index k = first; k < std::min(first + 32, columns); ++k) {
        const auto i = static_cast<std::size_t>(row * columns + k);
        EXPECT_LE(std::abs(got[i] - x[i]), largest / 127 * 0.5001f) << row << ", " << k;
      }
    }
  }
  EXPECT_EQ(got[32], 1000.0f / 127 * 127);
}

TEST(WeightFormat, HandlesExtremeValues) {
  constexpr float tiny = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();
  const std::array<float, 4> zeros{}, small{tiny, -tiny, 0, tiny}, large{huge, -huge, 0, 1};
  for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int8_rows}) {
    EXPECT_EQ(numbers(*EncodedWeight::of(zeros.data(), 2, 2, format)), std::vector<float>(4, 0.0f));
    for (const float x : numbers(*EncodedWeight::of(small.data(), 1, 4, format))) {
      EXPECT_LE(std::abs(x), 127 * tiny);  // x is 0 if the scale underflows
    }
    EXPECT_FALSE(EncodedWeight::of(large.data(), 1, 4, format).has_value());  // 127 · scale would be infinite
  }
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const std::array<float, 2> x{1, bad};
    for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
      EXPECT_FALSE(EncodedWeight::of(x.data(), 1, 2, format).has_value());
    }
  }
  EXPECT_FALSE(EncodedWeight::of(&huge, 1, 1, WeightFormat::bf16).has_value());  // bf16 would round it to infinity
}

}  // namespace
}  // namespace gated::weight_format_test
