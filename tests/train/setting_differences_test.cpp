#include "gated/train/setting_differences.hpp"

#include <gtest/gtest.h>

#include "gated/models/gmlp.hpp"

namespace gated::setting_differences_test {
namespace {

TEST(SettingDifferences, NameDifferencesInNestedConfigurations) {
  GmlpImageClassifierConfig one, other;
  EXPECT_TRUE(setting_differences(one, other).empty());
  other.trunk.depth = one.trunk.depth + 1;
  other.pixel_mean = {0.485, 0.456, 0.406};
  other.trunk.causal = !one.trunk.causal;
  const auto differences = setting_differences(one, other);
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].name, "pixel_mean");
  EXPECT_EQ(differences[0].first, "[0.5, 0.5, 0.5]");
  EXPECT_EQ(differences[0].second, "[0.485, 0.456, 0.406]");
  EXPECT_EQ(differences[1].name, "trunk.depth");
  EXPECT_EQ(differences[1].second, text(one.trunk.depth + 1));
  EXPECT_EQ(differences[2].name, "trunk.causal");
  EXPECT_EQ(differences[2].first, one.trunk.causal ? "true" : "false");
}

}  // namespace
}  // namespace gated::setting_differences_test
