#include "gated/io/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace gated::detail::json_test {
namespace {

Json parsed(std::string_view json) { return parse_json<FileError>(json, "json", 16); }

std::string written(const Json& value, int indent = -1) {
  JsonWriter writer(indent);
  writer.value(value);
  return writer.finish<FileError>("json");
}

TEST(Json, KeepsEachKindOfValue) {
  const Json root = parsed(R"({"a": [null, true, -3, 4, 0.5, "x"], "b": {}})");
  const Json* const a = root.find("a");
  ASSERT_NE(a, nullptr);
  ASSERT_EQ(a->elements().size(), 6U);
  EXPECT_TRUE(a->elements()[0].is_null());
  EXPECT_TRUE(a->elements()[1].is_boolean() && a->elements()[1].truth());
  EXPECT_TRUE(a->elements()[2].is_integer() && !a->elements()[2].is_whole());
  EXPECT_EQ(a->elements()[2].integer(), -3);
  EXPECT_TRUE(a->elements()[3].is_whole());
  EXPECT_EQ(a->elements()[3].number(), 4);
  EXPECT_TRUE(a->elements()[4].is_number() && !a->elements()[4].is_integer());
  EXPECT_TRUE(a->elements()[5].is("x"));
  EXPECT_TRUE(root.find("b")->is_object() && root.find("b")->entries().empty());
  EXPECT_EQ(root.find("c"), nullptr);
  EXPECT_EQ(a->find("a"), nullptr) << "no object";
}

TEST(Json, HoldsTheLargestIntegersOfEitherSign) {
  const Json root = parsed("[18446744073709551615, -9223372036854775808]");
  EXPECT_EQ(root.elements()[0].whole(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(root.elements()[1].integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(written(root), "[18446744073709551615,-9223372036854775808]");
}

TEST(Json, LeavesNothingBehindWhenItMoves) {
  Json from = parsed(R"({"a": ["b"]})");
  Json to = std::move(from);
  EXPECT_EQ(written(to), R"({"a":["b"]})");
  to = parsed("[1]");
  EXPECT_EQ(written(to), "[1]");
}

TEST(Json, IsWrittenAsNlohmannWritesIt) {
  for (const char* const json : {"null", "[]", "{}", "[true, false, null]",
                                 R"({"b": [1, [2.5, -0.0, 1e-7, 1e22, 123456789.125]], "a": {"c": {}, "d": []}})",
                                 R"(["\"\\\/\b\f\n\r\t\u0001\u001f\u007f", "größer € 𝄞"])",
                                 "[0.1, 1e-05, 5e-324, 1.7976931348623157e308, 100.0, 1e15, 1e16]"}) {
    for (const int indent : {-1, 0, 2}) {
      EXPECT_EQ(written(parsed(json), indent), nlohmann::json::parse(json).dump(indent)) << json;
    }
  }
}

TEST(Json, KnowsUtf8AsNlohmannDoes) {
  for (int first = 0; first < 256; ++first) {
    for (const char* const rest :
         {"", "\x80", "\xBF", "\x9F\x80", "\xA0\x80", "\x80\x80\x80", "\x8F\xBF\xBF", "\x90\x80\x80", "x"}) {
      const std::string text = std::string(1, static_cast<char>(first)) + rest;
      const nlohmann::json value = text;
      const auto handled = [&](auto handler) { return value.dump(-1, ' ', false, handler); };
      const bool valid = handled(nlohmann::json::error_handler_t::ignore) == handled(nlohmann::json::error_handler_t::replace);
      EXPECT_EQ(is_utf8(text), valid) << first << " and " << rest;
    }
  }
}

}  // namespace
}  // namespace gated::detail::json_test
