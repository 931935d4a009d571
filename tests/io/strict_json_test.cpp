#include "gated/io/strict_json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/core/numbers.hpp"

// The same texts as nlohmann's reader, with the same meaning, except for what that lets pass: duplicate keys, deep nesting, and
// numbers too small for a double.

namespace gated::detail {
namespace {

/// The text of a value on one line, its keys sorted; nothing if it is refused.
std::optional<std::string> read(const std::string& json) {
  Json value;
  JsonReader reader(json, 64);
  return reader.read(value) ? std::optional(value.dump()) : std::nullopt;
}
std::optional<std::string> read_by_nlohmann(const std::string& json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  return value.is_discarded() ? std::nullopt : std::optional(value.dump());
}

TEST(StrictJson, ReadsEveryKindOfValue) {
  const std::pair<std::string, std::string> texts[] = {
      {"null", "null"},
      {" \t\r\n[ true , false ] ", "[true,false]"},
      {"\xEF\xBB\xBF{}", "{}"},
      {"[]", "[]"},
      {R"({"b": {"d": []}, "a": [{}, [0]]})", R"({"a":[{},[0]],"b":{"d":[]}})"},
      {"[0, -0, -1, 9223372036854775807, -9223372036854775808]", "[0,0,-1,9223372036854775807,-9223372036854775808]"},
      {"[18446744073709551615, 18446744073709551616]", "[18446744073709551615,1.8446744073709552e+19]"},
      {"[0.0, -0.0, 1.50, 1e3, 1E+3, 25e-1, 0.1]", "[0.0,-0.0,1.5,1000.0,1000.0,2.5,0.1]"},
      {R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00 é€😀")", R"("\"\\/\b\f\n\r\tAé€😀 é€😀")"},
      {R"("\u0000\u001f\u007f")", "\"\\u0000\\u001f\x7f\""}};
  for (const auto& [json, expected] : texts) {
    EXPECT_EQ(read(json), expected) << json;
    EXPECT_EQ(read_by_nlohmann(json), expected) << json;
  }
}

TEST(StrictJson, RefusesWhatIsNoJson) {
  for (const std::string json : {"",
                                 " ",
                                 "nul",
                                 "truefalse",
                                 "[",
                                 "]",
                                 "[1",
                                 "[1,]",
                                 "[,1]",
                                 "[1 2]",
                                 "{",
                                 "}",
                                 "{1:2}",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "{\"a\" 1}",
                                 "{a:1}",
                                 "'a'",
                                 "\"",
                                 "\"\\\"",
                                 "\"\n\"",
                                 "\"\x1F\"",
                                 "\"\\x\"",
                                 "\"\\u12\"",
                                 "\"\\u12G4\"",
                                 "\"\\u+123\"",
                                 "\"\\ud800\"",
                                 "\"\\ud800\\n\"",
                                 "\"\\ud800\\u0041\"",
                                 "\"\\udc00\"",
                                 "01",
                                 "-",
                                 "+1",
                                 ".5",
                                 "1.",
                                 "1.e1",
                                 "1e",
                                 "1e+",
                                 "0x1",
                                 "NaN",
                                 "Infinity",
                                 "-Infinity",
                                 "1e999",
                                 "-1e999",
                                 "[1]]",
                                 "{}{}",
                                 "// a\n1",
                                 "\"\x80\"",
                                 "\"\xC0\x80\"",
                                 "\"\xC1\xBF\"",
                                 "\"\xE0\x9F\xBF\"",
                                 "\"\xED\xA0\x80\"",
                                 "\"\xF0\x8F\xBF\xBF\"",
                                 "\"\xF4\x90\x80\x80\"",
                                 "\"\xF5\x80\x80\x80\"",
                                 "\"\xE2\x82\"",
                                 "\"\xF0\x9F\x98\"",
                                 "\"\xC3",
                                 "\xEF\xBB"}) {
    EXPECT_EQ(read(json), std::nullopt) << json;
    EXPECT_EQ(read_by_nlohmann(json), std::nullopt) << json;
  }
  EXPECT_EQ(read("1e-999"), std::nullopt);
}

TEST(StrictJson, AgreesWithNlohmannOnDamagedTexts) {
  const std::string whole =
      R"({"a": [1, -2.5e+3, true, null, "x\u00e9\ud83d\ude00é"], "b": {"c": [], "d": {}, "e": 0.125}, "f": "\\\"/"})";
  const std::string alphabet = "{}[],:\"\\0123456789+-.eEtrufalsn \n\xC3\xA9\xED\xF0\x9F\x80";
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string json = whole;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(json.size());
      switch (below(3)) {
        case 0:
          json[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          json.erase(at, 1 + below(4));
          break;
        default:
          json.insert(at, 1, alphabet[below(alphabet.size())]);
      }
    }
    Json value;
    JsonReader reader(json, 64);
    const bool well = reader.read(value);
    if (!well && reader.problem().starts_with("duplicate")) {
      continue;
    }
    ASSERT_EQ(well ? std::optional(value.dump()) : std::nullopt, read_by_nlohmann(json)) << json << "\n" << reader.problem();
    accepted += well ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 99000);
}

TEST(StrictJson, NamesTheCharacterThatIsWrong) {
  const auto problem = [](const std::string& json) {
    return test::message_of<ArgumentError>([&] { parse_json<ArgumentError>(json, "here", 2); });
  };
  EXPECT_EQ(problem("{"), "here: invalid JSON: parse error at line 1, column 2: expected '\"' and a key, found the end.");
  EXPECT_EQ(problem("[1,\n 2 3]"), "here: invalid JSON: parse error at line 2, column 4: expected ',' or ']'.");
  EXPECT_EQ(problem("[[[]]]"), "here: JSON is nested more than 2 deep.");
  EXPECT_NO_THROW(parse_json<ArgumentError>("[[], []]", "here", 2));
  EXPECT_EQ(problem(R"({"b":1,"a":2,"b":3})"), "here: duplicate key \"b\".");
  EXPECT_EQ(problem(std::string("[]\0", 3)), "here: invalid JSON: a zero byte at position 2.");
}

TEST(StrictJson, FindsMembers) {
  const Json value = parse_json<ArgumentError>(R"({"c": -3, "a": 300, "b": 2.0})", "here", 2);
  EXPECT_EQ(value.find("a")->whole<int>(), 300);
  EXPECT_EQ(value.find("a")->whole<std::uint8_t>(), std::nullopt);
  EXPECT_EQ(value.find("c")->whole<std::int8_t>(), -3);
  EXPECT_EQ(value.find("c")->whole<std::uint64_t>(), std::nullopt);
  EXPECT_FALSE(value.find("b")->is_whole());
  EXPECT_EQ(*value.find("b"), Json(2));
  EXPECT_NE(*value.find("b"), Json("2"));
  EXPECT_EQ(value.find("d"), nullptr);
  EXPECT_EQ(Json(1).find("a"), nullptr);
}

TEST(JsonWriter, WritesNumbersThatComeBackAsTheyWere) {
  const auto written = [](auto value) {
    JsonWriter writer;
    writer.write(value);
    return writer.json();
  };
  for (const auto& [value, expected] : {std::pair(1e-5, "1e-05"),
                                        {1e-4, "0.0001"},
                                        {0.1, "0.1"},
                                        {-2.5, "-2.5"},
                                        {1e14, "100000000000000.0"},
                                        {1e15, "1e+15"},
                                        {1.5e300, "1.5e+300"},
                                        {5e-324, "5e-324"},
                                        {-0.0, "-0.0"}}) {
    EXPECT_EQ(written(value), expected);
    EXPECT_EQ(nlohmann::json(value).dump(), expected);
  }
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) {
      ASSERT_EQ(nlohmann::json::parse(written(value)).get<double>(), value) << written(value);
      ASSERT_EQ(parse_json<ArgumentError>(written(value), "here", 1).number(), value) << written(value);
    }
  }
}

TEST(JsonWriter, Indents) {
  const std::string text = R"({"a":[1,{"b":[]},[[2]]],"c":{},"d":"x"})";
  const Json value = parse_json<ArgumentError>(text, "here", 9);
  for (const int indent : {-1, 0, 2, 4}) {
    JsonWriter writer(indent);
    value.write(writer);
    EXPECT_EQ(writer.json(), nlohmann::json::parse(text).dump(indent));
  }
}

TEST(JsonWriter, TellsTextsThatAreNotUtf8) {
  JsonWriter writer;
  writer.write("gr\xFC\xDF");
  EXPECT_FALSE(writer.is_utf8());
}

}  // namespace
}  // namespace gated::detail
