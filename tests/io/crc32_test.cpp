#include "gated/io/crc32.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace gated::crc32_test {
namespace {

std::uint32_t sum_of(std::string_view text) { return detail::crc32(std::as_bytes(std::span(text))); }

/// Sources: the CRC catalogue's check value, the IEND chunk of every PNG file, and zlib's checksum of a pangram.
TEST(Crc32, MatchesPublishedValues) {
  EXPECT_EQ(sum_of(""), 0u);
  EXPECT_EQ(sum_of("123456789"), 0xCBF43926u);
  EXPECT_EQ(sum_of("IEND"), 0xAE426082u);
  EXPECT_EQ(sum_of("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
}

/// The checksum by polynomial division, bit by bit.
std::uint32_t divided(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    sum ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1) ^ (sum % 2 == 1 ? 0xEDB88320u : 0u);
    }
  }
  return ~sum;
}

TEST(Crc32, EqualsPolynomialDivisionForAnySplit) {
  std::vector<std::byte> bytes(70);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * i * 37 % 251);
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::span<const std::byte> all(bytes.data(), size);
    EXPECT_EQ(detail::crc32(all), divided(all)) << size;
    for (std::size_t first = 0; first <= size; ++first) {
      EXPECT_EQ(detail::crc32(all.subspan(first), detail::crc32(all.first(first))), divided(all)) << first << " of " << size;
    }
  }
}

}  // namespace
}  // namespace gated::crc32_test
