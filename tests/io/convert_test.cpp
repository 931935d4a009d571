#include "gated/io/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gated::convert_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T, class Bits>
T value_of(Dtype dtype, Bits bits) {
  std::array<std::byte, sizeof(Bits) + 1> memory{};
  std::memcpy(memory.data() + 1, &bits, sizeof(bits));  // deliberately unaligned
  T value{};
  convert<T>(dtype, std::span(memory).subspan(1), std::span(&value, 1));
  return value;
}

template <class T>
std::uint16_t bits_of(T value, Dtype dtype) {
  const auto bytes = bytes_of<T>(std::span<const T>(&value, 1), dtype);
  std::uint16_t bits = 0xDEAD;
  if (bytes) {
    std::memcpy(&bits, bytes->data(), 2);
  }
  return bits;
}

template <class Stored, class T>
std::size_t misfit(const std::vector<Stored>& values) {
  return first_misfit<T>(dtype_of<Stored>(), std::as_bytes(std::span(values)));
}

TEST(Convert, DecodesHalf) {
  const auto half = [](std::uint16_t bits) { return value_of<double>(Dtype::F16, bits); };
  EXPECT_EQ(half(0x3C00), 1.0);
  EXPECT_EQ(half(0xC100), -2.5);
  EXPECT_EQ(half(0x7BFF), 65504.0);
  EXPECT_EQ(half(0x0400), 0x1p-14);
  EXPECT_EQ(half(0x0001), 0x1p-24);            // the smallest subnormal
  EXPECT_EQ(half(0x83FF), -1023.0 * 0x1p-24);  // the largest subnormal, negative
  EXPECT_EQ(half(0x7C00), infinity);
  EXPECT_EQ(half(0xFC00), -infinity);
  EXPECT_TRUE(std::isnan(half(0x7E00)));
  EXPECT_TRUE(std::signbit(half(0x8000)));
}

TEST(Convert, DecodesBfloat16) {
  const auto bfloat = [](std::uint16_t bits) { return value_of<double>(Dtype::BF16, bits); };
  EXPECT_EQ(bfloat(0x3F80), 1.0);
  EXPECT_EQ(bfloat(0xC020), -2.5);
  EXPECT_EQ(bfloat(0x0001), 0x1p-133);  // the smallest subnormal
  EXPECT_EQ(bfloat(0x7F7F), 255.0 * 0x1p120);
  EXPECT_EQ(bfloat(0x7F80), infinity);
  EXPECT_EQ(bfloat(0xFF80), -infinity);
  EXPECT_TRUE(std::isnan(bfloat(0x7FC0)));
}

TEST(Convert, HalfAndBfloat16RoundTripThroughFloatAndDouble) {
  for (const Dtype dtype : {Dtype::F16, Dtype::BF16}) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const float value = value_of<float>(dtype, static_cast<std::uint16_t>(bits));
      if (std::isnan(value)) {
        continue;
      }
      ASSERT_EQ(bits_of(value, dtype), bits) << name_of(dtype);
      ASSERT_EQ(bits_of(static_cast<double>(value), dtype), bits) << name_of(dtype);
    }
  }
}

TEST(Convert, RoundsToNearestTiesToEven) {
  EXPECT_EQ(bits_of(1.0f + 0x1p-11f, Dtype::F16), 0x3C00);      // halfway, rounded down to even
  EXPECT_EQ(bits_of(1.0f + 3 * 0x1p-11f, Dtype::F16), 0x3C02);  // halfway, rounded up to even
  EXPECT_EQ(bits_of(1.0f + 0x1.8p-11f, Dtype::F16), 0x3C01);    // above halfway
  EXPECT_EQ(bits_of(0x1p-25f, Dtype::F16), 0x0000);             // half the smallest subnormal
  EXPECT_EQ(bits_of(0x1.8p-25f, Dtype::F16), 0x0001);
  EXPECT_EQ(bits_of(1.0f + 0x1p-8f, Dtype::BF16), 0x3F80);
  EXPECT_EQ(bits_of(1.0f + 3 * 0x1p-8f, Dtype::BF16), 0x3F82);
}

TEST(Convert, KeepsNaNAndInfinityButCreatesNone) {
  EXPECT_EQ(bits_of(std::numeric_limits<float>::infinity(), Dtype::F16), 0x7C00);
  EXPECT_EQ(bits_of(-infinity, Dtype::BF16), 0xFF80);
  EXPECT_TRUE(std::isnan(value_of<float>(Dtype::F16, bits_of(std::nan(""), Dtype::F16))));
  EXPECT_TRUE(std::isnan(value_of<float>(Dtype::BF16, bits_of(std::nan(""), Dtype::BF16))));
  EXPECT_EQ(bits_of(65519.0f, Dtype::F16), 0x7BFF);
  for (const double huge : {65520.0, -1e300}) {
    EXPECT_FALSE(bytes_of<double>(std::span(&huge, 1), Dtype::F16).has_value());
  }
  const double too_large = 1e39;
  EXPECT_FALSE(bytes_of<double>(std::span(&too_large, 1), Dtype::F32).has_value());
  EXPECT_FALSE(bytes_of<double>(std::span(&too_large, 1), Dtype::BF16).has_value());
  EXPECT_TRUE(bytes_of<double>(std::span(&too_large, 1), Dtype::F64).has_value());
}

TEST(Convert, ADoubleFitsAFloatIfItStaysFinite) {
  EXPECT_EQ((misfit<double, float>({1.1, infinity, std::nan(""), 1e-300, 3.5e38})), 4u);
  EXPECT_EQ((misfit<double, double>({1e300})), 1u);
  EXPECT_EQ((misfit<float, double>({3e38f})), 1u);
}

TEST(Convert, AnIntegerFitsOnlyIfItStaysExact) {
  EXPECT_EQ((misfit<std::int64_t, float>({16777216, -16777216, 1LL << 62, std::numeric_limits<std::int64_t>::min(), 16777217})),
            4u);
  EXPECT_EQ((misfit<std::int64_t, double>({9007199254740993})), 0u);
  EXPECT_EQ((misfit<std::uint64_t, double>({1ULL << 63, ~0ULL})), 1u);
  EXPECT_EQ((misfit<std::int32_t, double>({-2147483647 - 1})), 1u);
  EXPECT_EQ((misfit<std::int64_t, std::int8_t>({-128, 127, 128})), 2u);
  EXPECT_EQ((misfit<std::int8_t, std::uint8_t>({1, -1})), 1u);
  EXPECT_EQ((misfit<std::uint64_t, std::int64_t>({1, ~0ULL})), 1u);
}

TEST(Convert, RefusesToReadFloatsAsIntegers) {
  EXPECT_FALSE(is_readable_as<std::int32_t>(Dtype::F32));
  EXPECT_FALSE(is_readable_as<std::int64_t>(Dtype::BF16));
  EXPECT_TRUE(is_readable_as<std::int32_t>(Dtype::BOOL));
  EXPECT_TRUE(is_readable_as<float>(Dtype::I64));
}

TEST(Convert, AnyNonZeroByteIsTrue) {
  EXPECT_EQ(value_of<float>(Dtype::BOOL, std::uint8_t{0}), 0.0f);
  EXPECT_EQ(value_of<float>(Dtype::BOOL, std::uint8_t{1}), 1.0f);
  EXPECT_EQ(value_of<std::int32_t>(Dtype::BOOL, std::uint8_t{200}), 1);
}

TEST(Convert, RefusesNegativeSizesAndOverflow) {
  EXPECT_EQ(byte_count(Dtype::F32, std::vector<Index>{2, 3}), 24u);
  EXPECT_EQ(byte_count(Dtype::F64, std::vector<Index>{}), 8u);
  EXPECT_EQ(byte_count(Dtype::F64, std::vector<Index>{0, 5}), 0u);
  EXPECT_FALSE(byte_count(Dtype::U8, std::vector<Index>{-1}).has_value());
  EXPECT_FALSE(byte_count(Dtype::U8, std::vector<Index>{std::numeric_limits<Index>::max() / 2, 3}).has_value());
}

}  // namespace
}  // namespace gated::convert_test
