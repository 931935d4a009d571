#include "gated/io/nearest_name.hpp"

#include <gtest/gtest.h>

namespace gated::nearest_name_test {
namespace {

TEST(NearestName, EditDistanceCountsSingleCharacterEdits) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
  EXPECT_EQ(edit_distance("ab", "ba"), 2u);
}

TEST(NearestName, PrefersTheFirstOfEquallyNearNames) {
  const std::vector<std::string_view> names{"head.bias", "head.weight", "heat.weight"};
  EXPECT_EQ(nearest_name("head.wieght", names), "head.weight");
  EXPECT_EQ(nearest_name("hea.weight", names), "head.weight");
  EXPECT_EQ(nearest_name("x", std::vector<std::string_view>{}), "");
}

TEST(NearestName, SkipsVeryLongNames) {
  const std::string absurd(1000, 'a');
  EXPECT_EQ(nearest_name("aaaa", std::vector<std::string_view>{absurd, "b"}), "b");
  EXPECT_EQ(nearest_name(absurd, std::vector<std::string_view>{"b"}), "");
  const std::string long_name(250, 'a'), too_long(260, 'a');
  EXPECT_EQ(nearest_name(long_name, std::vector<std::string_view>{too_long, "b"}), "b");
}

TEST(NearestName, PrintableTruncatesAndReplacesControlCharacters) {
  EXPECT_EQ(printable("a\nb\x7F\x1B[0m"), "a?b??[0m");
  EXPECT_EQ(printable("größe"), "größe");
  std::string umlauts = "x";
  for (int i = 0; i < 200; ++i) {
    umlauts += "ü";
  }
  EXPECT_EQ(printable(umlauts), umlauts.substr(0, 199) + "…");
}

}  // namespace
}  // namespace gated::nearest_name_test
