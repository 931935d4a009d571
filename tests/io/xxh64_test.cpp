#include "gated/io/xxh64.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace gated::xxh64_test {
namespace {

std::uint64_t hash_of(std::string_view text) {
  detail::Xxh64 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.value();
}

/// Values from the tests of the xxHash library, and of other libraries tested against it.
TEST(Xxh64, MatchesPublishedValues) {
  EXPECT_EQ(hash_of(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(hash_of("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(hash_of("as"), 0x1C330FB2D66BE179u);
  EXPECT_EQ(hash_of("asd"), 0x631C37CE72A97393u);
  EXPECT_EQ(hash_of("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(hash_of("asdf"), 0x415872F599CEA71Eu);
  EXPECT_EQ(hash_of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
  EXPECT_EQ(hash_of("Call me Ishmael. Some years ago--never mind how long precisely-"), 0x02A2E85470D6FD96u);
}

TEST(Xxh64, IsTheSameForAnySplit) {
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * i % 251);
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::span<const std::byte> all(bytes.data(), size);
    detail::Xxh64 whole;
    whole.add(all);
    for (const std::size_t piece : {1u, 7u, 31u, 32u, 33u, 64u, 100u}) {
      detail::Xxh64 pieces;
      for (std::size_t at = 0; at < size; at += piece) {
        pieces.add(all.subspan(at, std::min(piece, size - at)));
        pieces.add({});
      }
      ASSERT_EQ(pieces.value(), whole.value()) << size << " bytes in pieces of " << piece;
    }
  }
}

TEST(Xxh64, ChangesWithEachBit) {
  for (std::size_t size = 1; size < 100; ++size) {
    std::string text(size, 'x');
    const std::uint64_t before = hash_of(text);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
      EXPECT_NE(hash_of(text), before) << "bit " << bit << " of " << size << " bytes";
      text[bit / 8] = 'x';
    }
  }
}

}  // namespace
}  // namespace gated::xxh64_test
