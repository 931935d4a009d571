#include "gated/core/settings.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gated::settings_test {
namespace {

enum class Colour { red, green, unlisted };

constexpr auto names_of(Colour) {
  return std::array{std::pair{Colour::red, std::string_view("red")}, std::pair{Colour::green, std::string_view("green")}};
}

struct Inner {
  int width = 3;
  static constexpr auto fields() { return Fields(setting("width", &Inner::width)); }
};

struct Config {
  int depth = 6;
  Colour colour = Colour::red;
  Inner inner;
  static constexpr auto fields() {
    return Fields(setting("depth", &Config::depth), setting("colour", &Config::colour), setting("inner", &Config::inner));
  }
};

TEST(ForEachSetting, VisitsNamesAndMembersInOrder) {
  Config config;
  std::vector<std::string> names;
  for_each_setting(
      [&](const char* name, auto& member) {
        names.emplace_back(name);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, int>) {
          member = 8;
        }
      },
      config);
  EXPECT_EQ(names, (std::vector<std::string>{"depth", "colour", "inner"}));
  EXPECT_EQ(config.depth, 8);
  EXPECT_EQ(config.inner.width, 3) << "a nested configuration is one member";
}

TEST(ForEachSetting, PassesConstMembersOfAConstConfig) {
  const Config config;
  for_each_setting([](const char*, auto& member) { EXPECT_TRUE(std::is_const_v<std::remove_reference_t<decltype(member)>>); },
                   config);
}

TEST(HasSettings, HoldsForConfigurationsOnly) {
  EXPECT_TRUE(detail::HasSettings<Config>);
  EXPECT_TRUE(detail::HasSettings<const Inner>);
  EXPECT_FALSE(detail::HasSettings<int>);
  EXPECT_FALSE(detail::HasSettings<std::string>);
}

struct Model {
  using Config = settings_test::Config;
  static constexpr const char* architecture = "Model";
  explicit Model(const Config&) {}
};
struct Unbuildable {
  using Config = settings_test::Config;
  static constexpr const char* architecture = "Unbuildable";
};
struct Nameless {
  using Config = settings_test::Config;
  explicit Nameless(const Config&) {}
};

TEST(ConfiguredModel, NeedsAConfigAndAnArchitectureName) {
  EXPECT_TRUE(ConfiguredModel<Model>);
  EXPECT_FALSE(ConfiguredModel<Unbuildable>);
  EXPECT_FALSE(ConfiguredModel<Nameless>);
  EXPECT_FALSE(ConfiguredModel<Config>);
}

TEST(NamesOf, MapsValuesToNamesAndBack) {
  EXPECT_EQ(name_of(Colour::green), "green");
  EXPECT_EQ(value_named<Colour>("red"), Colour::red);
  EXPECT_EQ(value_named<Colour>("Red"), std::nullopt);
  EXPECT_EQ(value_named<Colour>("reddish"), std::nullopt);
  EXPECT_EQ(value_named<Colour>(""), std::nullopt);
  EXPECT_EQ(name_of(Colour::unlisted), "");
  EXPECT_EQ(list_of_names<Colour>(), "red, green");
}

}  // namespace
}  // namespace gated::settings_test
