#include "gated/io/parse_number.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>
#include <vector>

namespace gated::parse_number_test {
namespace {

template <class T>
bool parses(std::string_view text, T expected) {
  T number{};
  return parse_number(text, number) && number == expected;
}

template <class T>
bool is_refused(std::string_view text) {
  T number = 7;
  return !parse_number(text, number) && number == 7;
}

TEST(ParseNumber, ParsesCNotation) {
  EXPECT_TRUE(parses("1.5", 1.5));
  EXPECT_TRUE(parses("-2e-3", -2e-3));
  EXPECT_TRUE(parses(".25", 0.25));
  EXPECT_TRUE(parses("3.", 3.0));
  EXPECT_TRUE(parses("+4", 4.0f));
  EXPECT_TRUE(parses(" \t5\t ", 5.0f));
  EXPECT_TRUE(parses("inf", std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(parses("-Infinity", -std::numeric_limits<float>::infinity()));
  double number = 0;
  EXPECT_TRUE(parse_number("nan", number) && number != number);
}

TEST(ParseNumber, RefusesOtherTextAndKeepsTheOldValue) {
  for (const char* text : {"", " ", "x", "1x", "1 2", "0x10", "++1", "+-1", "- 1", "-+1", "\v1", "1,5", "1e", "e1", "1e999"}) {
    EXPECT_TRUE(is_refused<double>(text)) << text;
    EXPECT_TRUE(is_refused<float>(text)) << text;
  }
  EXPECT_TRUE(is_refused<float>("1e39"));
  EXPECT_TRUE(is_refused<double>(std::string_view("1\0", 2)));
}

TEST(ParseNumber, RoundsValuesTooSmallForAFloat) {
  EXPECT_TRUE(parses("1e-40", 1e-40f));
  EXPECT_TRUE(parses("1e-60", 0.0f));
  EXPECT_TRUE(parses("5e-324", 5e-324));
}

TEST(ParseNumber, IgnoresTheLocale) {
  const char* found = nullptr;
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"}) {
    found = found == nullptr ? std::setlocale(LC_NUMERIC, name) : found;
  }
  if (found == nullptr) {
    GTEST_SKIP() << "no locale with a decimal comma is installed";
  }
  EXPECT_TRUE(parses("1.5", 1.5));
  EXPECT_TRUE(is_refused<double>("1,5"));
  std::setlocale(LC_NUMERIC, "C");
}

#if defined(__cpp_lib_to_chars) && (defined(__unix__) || defined(__APPLE__))
template <class T>
void expect_the_same(const char* text) {
  const char* const end = text + std::char_traits<char>::length(text);
  T by_library{}, by_strtod{};
  const auto library = std::from_chars(text, end, by_library);
  const auto strtod = detail::from_chars_by_strtod(text, end, by_strtod);
  EXPECT_EQ(library.ec, strtod.ec) << text;
  EXPECT_EQ(library.ptr, strtod.ptr) << text;
  EXPECT_TRUE(by_library == by_strtod || (by_library != by_library && by_strtod != by_strtod)) << text;
}

TEST(ParseNumber, StrtodFallbackAgreesWithFromChars) {
  for (const char* text :
       {"1.5",   "-2e-3", ".25", "3.", "inf",    "-INFINITY", "nan",   "1x",     "1e",  "1e5 ",
        "-",     "+1",    " 1",  "",   "1e-310", "1e-400",    "1e400", "-1e400", "0.1", "123456789012345678901234567890",
        "1e-40", "0",     "-0"}) {
    expect_the_same<double>(text);
    expect_the_same<float>(text);
  }
}
#endif

}  // namespace
}  // namespace gated::parse_number_test
