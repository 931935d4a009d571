#include "gated/io/config_json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files.hpp"
#include "gated/core/matrix.hpp"

namespace gated::config_json_test {
namespace {

enum class Colour { red, light_blue, unlisted };
constexpr auto names_of(Colour) {
  using Pair = std::pair<Colour, std::string_view>;
  return std::array{Pair{Colour::red, "red"}, Pair{Colour::light_blue, "light_blue"}};
}

struct Inner {
  Index heads = 2;
  double epsilon = 1e-5;
  static constexpr auto fields() { return Fields(setting("heads", &Inner::heads), setting("epsilon", &Inner::epsilon)); }
};

struct Config {
  Index length = 196;
  int depth = 30;
  double dropout = 0.1;
  bool causal = false;
  std::string name = "S";
  Colour colour = Colour::red;
  Inner inner = {};
  std::optional<Inner> attention = {};
  std::array<Index, 2> patch = {16, 16};
  std::vector<Index> groups = {};

  static constexpr auto fields() {
    return Fields(setting("length", &Config::length), setting("depth", &Config::depth), setting("dropout", &Config::dropout),
                  setting("causal", &Config::causal), setting("name", &Config::name), setting("colour", &Config::colour),
                  setting("inner", &Config::inner), setting("attention", &Config::attention), setting("patch", &Config::patch),
                  setting("groups", &Config::groups));
  }
};

void expect_refused(std::string_view json, std::initializer_list<std::string_view> parts) {
  test::expect_error<ArgumentError>([&] { from_json<Config>(json); }, parts);
}

TEST(ConfigJson, WritesSettingsInTheOrderOfFields) {
  EXPECT_EQ(to_json(Config{}), R"({"length":196,"depth":30,"dropout":0.1,"causal":false,"name":"S","colour":"red",)"
                               R"("inner":{"heads":2,"epsilon":1e-05},"attention":null,"patch":[16,16],"groups":[]})");
  EXPECT_EQ(to_json(Inner{}, 2), "{\n  \"heads\": 2,\n  \"epsilon\": 1e-05\n}");
}

TEST(ConfigJson, RoundTrips) {
  Config config;
  config.length = std::numeric_limits<Index>::max() / 3;
  config.depth = -3;
  config.dropout = 1.0 / 3;
  config.causal = true;
  config.name = "größer \"S\"\n";
  config.colour = Colour::light_blue;
  config.inner.epsilon = 5e-324;
  config.attention = Inner{.heads = 7};
  config.patch = {8, 4};
  config.groups = {1, 2, 3};
  const std::string json = to_json(config);
  const Config back = from_json<Config>(json);
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(back.length, config.length);
  EXPECT_EQ(back.depth, -3);
  EXPECT_EQ(back.dropout, config.dropout);
  EXPECT_TRUE(back.causal);
  EXPECT_EQ(back.name, config.name);
  EXPECT_EQ(back.colour, Colour::light_blue);
  EXPECT_EQ(back.inner.epsilon, 5e-324);
  EXPECT_EQ(back.attention.value().heads, 7);
  EXPECT_EQ(back.patch, config.patch);
  EXPECT_EQ(back.groups, config.groups);
}

TEST(ConfigJson, MissingKeysKeepTheirDefaults) {
  const Config config = from_json<Config>(R"({"depth": 4, "inner": {"heads": 5}, "attention": {}})");
  EXPECT_EQ(config.depth, 4);
  EXPECT_EQ(config.inner.heads, 5);
  EXPECT_EQ(config.inner.epsilon, 1e-5);
  EXPECT_EQ(config.length, 196);
  EXPECT_EQ(config.attention.value().heads, 2);
  EXPECT_EQ(to_json(from_json<Config>("{}")), to_json(Config{}));
}

TEST(ConfigJson, IntegersAreValidFloatingPointValues) { EXPECT_EQ(from_json<Config>(R"({"dropout": 1})").dropout, 1.0); }

TEST(ConfigJson, RefusesUnknownKeysAndSuggestsTheNearest) {
  expect_refused(R"({"depht": 4})", {"unknown key \"depht\"", "the nearest is \"depth\""});
  expect_refused(R"({"inner": {"epsilom": 1}})", {"unknown key \"inner.epsilom\"", "\"epsilon\""});
}

TEST(ConfigJson, NamesTheKeyOfAValueOfTheWrongType) {
  expect_refused(R"({"depth": "4"})", {"depth is \"4\", expected a whole number"});
  expect_refused(R"({"depth": true})", {"depth is true, expected a whole number"});
  expect_refused(R"({"depth": null})", {"depth is null, expected a whole number"});
  expect_refused(R"({"dropout": "x"})", {"dropout is \"x\", expected a number"});
  expect_refused(R"({"causal": 1})", {"causal is 1, expected true or false"});
  expect_refused(R"({"name": 1})", {"name is 1, expected a string"});
  expect_refused(R"({"inner": 1})", {"inner is 1, expected an object"});
  expect_refused(R"({"patch": [1]})", {"patch is [1], expected an array of 2"});
  expect_refused(R"({"patch": [1, 2, 3]})", {"expected an array of 2"});
  expect_refused(R"({"groups": 1})", {"groups is 1, expected an array"});
  expect_refused(R"({"groups": [1, "2"]})", {"groups[1] is \"2\", expected a whole number"});
  expect_refused(R"({"attention": {"heads": []}})", {"attention.heads is [], expected a whole number"});
  expect_refused("[]", {"the configuration is [], expected an object"});
}

TEST(ConfigJson, RefusesFractionsAndNumbersOutOfRange) {
  expect_refused(R"({"depth": 4.5})", {"depth is 4.5, expected a whole number"});
  expect_refused(R"({"depth": 4.0})", {"depth is 4.0, expected a whole number"});
  expect_refused(R"({"depth": 2147483648})", {"depth is 2147483648, expected a number from -2147483648 to 2147483647"});
  expect_refused(R"({"length": 9223372036854775808})", {"length is 9223372036854775808, expected a number from"});
  expect_refused(R"({"dropout": 1e999})", {"invalid JSON"});
}

TEST(ConfigJson, RefusesUnknownNamesAndListsValidOnes) {
  expect_refused(R"({"colour": "blue"})", {"colour is \"blue\", expected one of red, light_blue"});
  expect_refused(R"({"colour": 0})", {"colour is 0, expected one of red, light_blue"});
}

TEST(ConfigJson, RefusesMalformedText) {
  expect_refused("", {"from_json: invalid JSON"});
  expect_refused("{", {"from_json: invalid JSON at line 1, column 2"});
  expect_refused(R"({"depth": 1, "depth": 2})", {"duplicate key \"depth\""});
  expect_refused("{\"name\": \"\xFF\"}", {"ill-formed UTF-8"});
  expect_refused(std::string(1000000, '['), {"nested more than 64 deep"});
}

TEST(ConfigJson, RefusesToWriteNaNAndInvalidUtf8) {
  Config config;
  config.inner.epsilon = std::nan("");
  test::expect_error<ArgumentError>([&] { to_json(config); }, {"inner.epsilon is nan"});
  config = {};
  config.name = "\xFF";
  test::expect_error<ArgumentError>([&] { to_json(config); }, {"the string \"\xFF\" is not valid UTF-8"});
  config = {};
  config.colour = Colour::unlisted;
  test::expect_error<ArgumentError>([&] { to_json(config); }, {"colour", "no name"});
}

struct Pictures {
  PerChannel mean = 0.5;
  template <class C = Pictures>
  static constexpr auto fields() {
    return Fields(setting("mean", &C::mean));
  }
};

TEST(ConfigJson, PerChannelAcceptsOneOrThreeValues) {
  EXPECT_EQ(to_json(Pictures{}), R"({"mean":0.5})");
  EXPECT_EQ(to_json(Pictures{.mean = {0.25, 0.5, 1}}), R"({"mean":[0.25,0.5,1.0]})");
  EXPECT_EQ(from_json<Pictures>(R"({"mean": 2})").mean, PerChannel(2));
  EXPECT_EQ(from_json<Pictures>(R"({"mean": [1, 2, 3]})").mean, PerChannel(1, 2, 3));
  for (const char* const wrong : {R"({"mean": [1, 2]})", R"({"mean": "1"})", R"({"mean": null})", R"({"mean": [1, 2, "3"]})"}) {
    EXPECT_THROW(from_json<Pictures>(wrong), ArgumentError) << wrong;
  }
}

}  // namespace
}  // namespace gated::config_json_test
