#include "gated/io/mmpose.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/models/pose_head.hpp"

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

constexpr std::pair<const char*, const char*> head_tensors[] = {{"final_layer.weight", "[5, 3, 7, 7]"},
                                                                {"final_layer.bias", "[5]"},
                                                                {"mlp.0.g", "[1]"},
                                                                {"mlp.1.weight", "[8, 12]"},
                                                                {"gau.ln.g", "[1]"},
                                                                {"gau.uv.weight", "[38, 8]"},
                                                                {"gau.gamma", "[2, 6]"},
                                                                {"gau.beta", "[2, 6]"},
                                                                {"gau.o.weight", "[8, 16]"},
                                                                {"gau.res_scale.scale", "[8]"},
                                                                {"cls_x.weight", "[192, 8]"},
                                                                {"cls_y.weight", "[256, 8]"}};

Names head_names(const std::string& prefix) {
  Names names;
  for (const auto& [name, shape] : head_tensors) {
    names.insert(text(prefix, name, " ", shape));
  }
  return names;
}

PoseHead<float> random_head() {
  PoseHeadConfig config = rtmpose_head(3, 5, {128, 96});
  config.unit = gau_presets::rtmcc({.channels = 8, .query_key = 6});
  return random_layer<PoseHead<float>>(config);
}

TEST(Mmpose, HeadsHaveTheNamesOfTheOriginal) {
  const auto head = random_head();
  const SafetensorsFile file = saved(head, rtmcc_head_names());
  EXPECT_EQ(listed(file), head_names("head."));
  expect_loads(head, file, rtmcc_head_names());
}

TEST(Mmpose, HeadsLoadAloneAndFromAWholeModel) {
  const auto head = random_head();
  const Vector<float> other = Vector<float>::Ones(4);
  const SafetensorsFile whole = test::changed(
      saved(head, rtmcc_head_names()), {}, {},
      {test::tensor_of("backbone.stem.0.conv.weight", other, {2, 2}), test::tensor_of("neck.in_layers.0.bias", other, {4})});
  expect_loads(head, whole, rtmcc_head_names());
  NameMap alone = rtmcc_head_names();
  alone.body.clear();
  const SafetensorsFile part = saved(head, alone);
  EXPECT_EQ(listed(part), head_names(""));
  expect_loads(head, part, rtmcc_head_names());
}

TEST(Mmpose, HeadsWithUnknownTensorsAreRefused) {
  const auto head = random_head();
  const Vector<float> other = Vector<float>::Ones(4);
  const SafetensorsFile wider =
      test::changed(saved(head, rtmcc_head_names()), {}, {}, {test::tensor_of("head.mlp2.1.weight", other, {2, 2})});
  PoseHead<float> loaded(head.config);
  EXPECT_THROW(load_parameters(loaded, wider, rtmcc_head_names()), FileError);
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
