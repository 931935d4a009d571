#include "gated/io/json_writer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "gated/core/random.hpp"

namespace gated::detail::json_writer_test {
namespace {

Json parsed(std::string_view json) { return parse_json<FileError>(json, "json", 16); }

std::string written(const Json& value, int indent = -1) {
  JsonWriter writer(indent);
  writer.value(value);
  return writer.finish<FileError>("json");
}

TEST(JsonWriter, WritesMovedValues) {
  Json from = parsed(R"({"a": ["b"]})");
  Json to = std::move(from);
  EXPECT_EQ(written(to), R"({"a":["b"]})");
  to = parsed("[1]");
  EXPECT_EQ(written(to), "[1]");
}

TEST(JsonWriter, WritesTheSameTextAsNlohmann) {
  for (const char* const json : {"null", "[]", "{}", "[true, false, null]", "[18446744073709551615, -9223372036854775808]",
                                 R"({"b": [1, [2.5, -0.0, 1e-7, 1e22, 123456789.125]], "a": {"c": {}, "d": []}})",
                                 R"(["\"\\\/\b\f\n\r\t\u0001\u001f\u007f", "größer € 𝄞"])",
                                 "[0.1, 1e-05, 5e-324, 1.7976931348623157e308, 100.0, 1e16]"}) {
    for (const int indent : {-1, 0, 2}) {
      EXPECT_EQ(written(parsed(json), indent), nlohmann::json::parse(json).dump(indent)) << json;
    }
  }
}

TEST(JsonWriter, DoublesRoundTripBitForBit) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::bit_cast<double>(random.bits());
    if (!std::isfinite(value)) {
      continue;
    }
    const std::string json = written(Json(value));
    const Json back = parsed(json);
    ASSERT_TRUE(back.is_number() && !back.is_integer()) << json;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back.number()), std::bit_cast<std::uint64_t>(value)) << json;
    ASSERT_EQ(nlohmann::json::parse(json).get<double>(), value) << json;
  }
}

TEST(JsonWriter, RefusesTextThatIsNotUtf8) {
  JsonWriter writer;
  writer.string("\xFF");
  EXPECT_THROW(writer.finish<FileError>("json"), FileError);
}

TEST(JsonWriter, FormatsValuesForErrorMessages) {
  const Json list = parsed("[1.0, \"a\"]");
  EXPECT_EQ(shown_json(list), "[1.0,\"a\"]");
  EXPECT_EQ(shown_json(list.elements()), "[1.0,\"a\"]");
}

}  // namespace
}  // namespace gated::detail::json_writer_test
