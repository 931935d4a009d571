#include "gated/io/mmpose.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/models/gau_presets.hpp"

namespace gated::mmpose_test {
namespace {

using test::expect_loads;
using test::listed;
using test::Names;
using test::random_layer;
using test::saved;

TEST(Mmpose, SelfAttentionHasTheNamesOfTheOriginal) {
  auto config = gau_presets::rtmcc({.channels = 6, .query_key = 8});
  const auto unit = random_layer<GatedAttentionUnit<float>>(config);
  const SafetensorsFile file = saved(unit, rtmcc_names());
  EXPECT_EQ(listed(file),
            (Names{"ln.g [1]", "uv.weight [32, 6]", "gamma [2, 8]", "beta [2, 8]", "o.weight [6, 12]", "res_scale.scale [6]"}));
  expect_loads(unit, file, rtmcc_names());

  config.relative_bias = RelativeBiasForm::toeplitz;
  config.max_length = 16;
  config.out = 5;
  config.residual = Residual::none;
  NameMap in_a_model = rtmcc_names();
  in_a_model.prefix = "head.gau.";
  const auto other = random_layer<GatedAttentionUnit<double>>(config);
  const SafetensorsFile prefixed = saved(other, in_a_model);
  EXPECT_EQ(listed(prefixed), (Names{"head.gau.ln.g [1]", "head.gau.uv.weight [32, 6]", "head.gau.gamma [2, 8]",
                                     "head.gau.beta [2, 8]", "head.gau.o.weight [5, 12]", "head.gau.w [31]"}));
  expect_loads(other, prefixed, in_a_model);
}

TEST(Mmpose, CrossAttentionHasTheNamesOfTheOriginal) {
  const GatedCrossAttentionConfig config{.channels = 6, .key_channels = 5, .value_channels = 7, .value = 12, .query_key = 8};
  GatedCrossAttention<float> layer(config);
  test::randomize(layer, 1);
  const SafetensorsFile file = saved(layer, rtmcc_cross_names());
  EXPECT_EQ(listed(file), (Names{"ln.g [1]", "uv.weight [20, 6]", "k_fc.weight [8, 5]", "v_fc.weight [12, 7]",
                                 "o.weight [6, 12]", "res_scale.scale [6]"}));
  expect_loads(layer, file, rtmcc_cross_names());
}

}  // namespace
}  // namespace gated::mmpose_test
