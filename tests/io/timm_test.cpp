#include "gated/io/timm.hpp"

#include <gtest/gtest.h>

#include <map>

#include "files.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/io/config_json.hpp"

namespace gated {
namespace {

using test::expect_error;

std::string json_of(const GmlpImageClassifierConfig& config) { return to_json(config); }

TEST(TimmConfig, HasTimmsDefaults) {
  GmlpImageClassifierConfig expected = timm_gmlp(512);
  expected.trunk.depth = 8;
  expected.trunk.hidden = 2048;
  EXPECT_EQ(json_of(timm_config("{}")), json_of(expected));
  EXPECT_EQ(expected.image, (ImageSize{224, 224}));
  EXPECT_EQ(expected.patch, (ImageSize{16, 16}));
  EXPECT_EQ(expected.trunk.norm_eps, 1e-6);
  EXPECT_EQ(expected.trunk.gate_norm_eps, 1e-5);
}

TEST(TimmConfig, KnowsThePublishedModels) {
  EXPECT_EQ(json_of(timm_config(R"({"entry": "gmlp_ti16_224"})")), json_of(gmlp_ti16_224()));
  EXPECT_EQ(json_of(timm_config(R"({"entry": "gmlp_s16_224"})")), json_of(gmlp_s16_224()));
  EXPECT_EQ(json_of(timm_config(R"({"entry": "gmlp_b16_224"})")), json_of(gmlp_b16_224()));
  EXPECT_EQ(json_of(timm_config(R"({"entry": null, "embed_dim": 256, "num_blocks": 30, "mlp_ratio": 6})")),
            json_of(gmlp_s16_224()));
}

TEST(TimmConfig, ArgumentsOverrideTheEntryWhereverTheyStand) {
  const auto config = timm_config(R"({"embed_dim": 64, "num_classes": 10, "entry": "gmlp_s16_224"})");
  EXPECT_EQ(config.trunk.channels, 64);
  EXPECT_EQ(config.trunk.hidden, 384);
  EXPECT_EQ(config.trunk.depth, 30);
  EXPECT_EQ(config.classes, 10);
}

TEST(TimmConfig, UnderstandsEveryArgument) {
  const auto config = timm_config(R"({"architecture": "timm.gmlp", "img_size": [32, 48], "patch_size": [8, 4], "in_chans": 1,
      "num_blocks": 3, "embed_dim": 20, "mlp_ratio": 2.5, "num_classes": 0, "stem_norm": true, "global_pool": "",
      "mean": 0.25, "std": 2, "nlhb": false, "drop_rate": 0.1, "proj_drop_rate": 0.1, "drop_path_rate": 0.1})");
  EXPECT_EQ(config.image, (ImageSize{32, 48}));
  EXPECT_EQ(config.patch, (ImageSize{8, 4}));
  EXPECT_EQ(config.image_channels, 1);
  EXPECT_EQ(config.trunk.depth, 3);
  EXPECT_EQ(config.trunk.channels, 20);
  EXPECT_EQ(config.trunk.hidden, 50);
  EXPECT_EQ(config.classes, 0);
  EXPECT_TRUE(config.stem_norm);
  EXPECT_EQ(config.readout, Readout::tokens);
  EXPECT_EQ(config.pixel_mean, 0.25);
  EXPECT_EQ(config.pixel_deviation, 2);

  const auto short_names = timm_config(R"({"image_size": 64, "patch_size": 8, "dim": 20, "hidden": 44, "depth": 2})");
  EXPECT_EQ(short_names.image, (ImageSize{64, 64}));
  EXPECT_EQ(short_names.patch, (ImageSize{8, 8}));
  EXPECT_EQ(short_names.trunk.channels, 20);
  EXPECT_EQ(short_names.trunk.hidden, 44);
  EXPECT_EQ(short_names.trunk.depth, 2);
  EXPECT_EQ(short_names.readout, Readout::mean);
}

TEST(TimmConfig, TakesAPublishedNameAsTheArchitectureToo) {
  EXPECT_EQ(to_json(timm_config(R"({"architecture": "gmlp_ti16_224", "num_classes": 10})")),
            to_json(timm_config(R"({"entry": "gmlp_ti16_224", "num_classes": 10})")));
  expect_error<ArgumentError>([] { timm_config(R"({"architecture": "mixer_s16_224"})"); }, {"entry = mixer_s16_224"});
}

TEST(TimmConfig, ReadsTheConfigJsonOfAPublishedModel) {
  const char* const json = R"({"architecture": "gmlp_s16_224", "num_classes": 5, "num_features": 256, "global_pool": "avg",
      "pretrained_cfg": {"tag": "ra3_in1k", "custom_load": false, "input_size": [1, 64, 32], "fixed_input_size": true,
                         "interpolation": "bicubic", "crop_pct": 0.875, "mean": [0.25, 0.25, 0.25], "std": [0.125, 0.125, 0.125],
                         "num_classes": 1000, "pool_size": null, "first_conv": "stem.proj", "classifier": "head"}})";
  const auto config = timm_config(json);
  GmlpImageClassifierConfig expected = gmlp_s16_224();
  expected.classes = 5;
  expected.image_channels = 1;
  expected.image = {64, 32};
  expected.pixel_mean = 0.25;
  expected.pixel_deviation = 0.125;
  EXPECT_EQ(to_json(config), to_json(expected));
  EXPECT_EQ(timm_config(R"({"in_chans": 2, "pretrained_cfg": {"input_size": [3, 8, 8]}})").image_channels, 2);
  for (const char* const wrong :
       {R"({"pretrained_cfg": 3})", R"({"pretrained_cfg": {"input_size": [3, 8]}})",
        R"({"pretrained_cfg": {"input_size": [3, "8", 8]}})", R"({"pretrained_cfg": {"std": []}})",
        R"({"pretrained_cfg": {"std": [1, 2]}})", R"({"pretrained_cfg": {"crop_mode": "squash"}})",
        R"({"pretrained_cfg": {"interpolation": "lanczos"}})", R"({"model_args": [3]})", R"({"model_args": {"colour": 3}})"}) {
    EXPECT_THROW(timm_config(wrong), ArgumentError) << wrong;
  }
}

TEST(TimmConfig, ReadsTheConfigJsonOfAFineTunedModel) {
  // As timm.models.push_to_hf_hub() writes it.
  const char* const json = R"({"architecture": "gmlp_s16_224", "num_classes": 2, "num_features": 256, "global_pool": "avg",
      "label_names": ["cat", "dog"], "label_descriptions": {"cat": "a cat", "dog": "a dog"},
      "model_args": {"img_size": 64, "num_blocks": 4, "drop_path_rate": 0.1},
      "pretrained_cfg": {"custom_load": false, "input_size": [3, 224, 224], "fixed_input_size": true,
                         "interpolation": "bilinear", "crop_pct": 0.9, "crop_mode": "center", "mean": [0.485, 0.456, 0.406],
                         "std": [0.229, 0.224, 0.225], "num_classes": 2, "pool_size": null, "first_conv": "stem.proj",
                         "classifier": "head", "license": "mit"}})";
  GmlpImageClassifierConfig expected = gmlp_s16_224(2);
  expected.image = {64, 64};
  expected.trunk.depth = 4;
  expected.pixel_mean = {0.485, 0.456, 0.406};
  expected.pixel_deviation = {0.229, 0.224, 0.225};
  expected.crop_share = 0.9;
  expected.interpolation = Interpolation::bilinear;
  EXPECT_EQ(to_json(timm_config(json)), to_json(expected));

  // Older files have it all on one level.
  EXPECT_EQ(to_json(timm_config(R"({"architecture": "gmlp_s16_224", "num_classes": 2, "input_size": [3, 64, 64], "model_args":
      {"num_blocks": 4}, "fixed_input_size": true, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
      "crop_pct": 0.9, "interpolation": "bilinear", "first_conv": "stem.proj", "classifier": "head"})")),
            to_json(expected));
}

TEST(TimmConfig, RefusesWhatItDoesNotKnow) {
  const auto refused = [](std::string_view json, std::initializer_list<std::string_view> parts) {
    expect_error<ArgumentError>([&] { timm_config(json); }, parts);
  };
  refused(R"({"embed_dims": 3})", {"\"embed_dims\" is not an argument of timm's gMLP"});
  refused(R"({"entry": "gmlp_l16_224"})", {"entry = gmlp_l16_224", "expected gmlp_ti16_224"});
  refused(R"({"global_pool": "max"})", {"global_pool = \"max\""});
  refused("{\"embed\\u001b[31m\": 3}", {"\"embed?[31m\" is not an argument"});
  refused(R"({"mlp_ratio": -1})", {"mlp_ratio = -1"});
  refused(R"({"mlp_ratio": 1e300})", {"mlp_ratio"});
}

TEST(TimmConfig, RefusesValuesOfTheWrongType) {
  for (const char* const json : {R"({"img_size": "224"})",
                                 R"({"img_size": [224]})",
                                 R"({"img_size": [224, 224, 3]})",
                                 R"({"img_size": [1.5, 2]})",
                                 R"({"img_size": 1.5})",
                                 R"({"patch_size": null})",
                                 R"({"in_chans": 3.0})",
                                 R"({"num_blocks": "8"})",
                                 R"({"embed_dim": [1]})",
                                 R"({"mlp_ratio": "6"})",
                                 R"({"num_classes": true})",
                                 R"({"stem_norm": 1})",
                                 R"({"global_pool": null})",
                                 R"({"mean": [0.5, 0.5]})",
                                 R"({"entry": 5})",
                                 "[]",
                                 "5",
                                 "",
                                 "{",
                                 "{\"a\": 1, }"}) {
    EXPECT_THROW(timm_config(json), ArgumentError) << json;
  }
}

TEST(TimmNames, CoverEveryParameterOfAClassifier) {
  const GmlpImageClassifier<float> model(timm_config(
      R"({"img_size": [8, 12], "patch_size": 4, "embed_dim": 6, "num_blocks": 2, "mlp_ratio": 4, "num_classes": 5,
          "stem_norm": true})"));
  std::map<std::string, std::vector<Index>> names;
  for_each_parameter(
      [&](const ParameterInfo& info, auto) {
        const FileTensor tensor = timm_names().in_file(info.path(), info.shape);
        EXPECT_TRUE(names.emplace(tensor.name, tensor.shape).second) << tensor.name << " stands twice";
      },
      model);
  std::map<std::string, std::vector<Index>> expected{{"stem.proj.weight", {6, 3, 4, 4}},
                                                     {"stem.proj.bias", {6}},
                                                     {"stem.norm.weight", {6}},
                                                     {"stem.norm.bias", {6}},
                                                     {"norm.weight", {6}},
                                                     {"norm.bias", {6}},
                                                     {"head.weight", {5, 6}},
                                                     {"head.bias", {5}}};
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    expected[block + "norm.weight"] = expected[block + "norm.bias"] = {6};
    expected[block + "mlp_channels.fc1.weight"] = {24, 6};
    expected[block + "mlp_channels.fc1.bias"] = {24};
    expected[block + "mlp_channels.gate.norm.weight"] = expected[block + "mlp_channels.gate.norm.bias"] = {12};
    expected[block + "mlp_channels.gate.proj.weight"] = {6, 6};
    expected[block + "mlp_channels.gate.proj.bias"] = {6};
    expected[block + "mlp_channels.fc2.weight"] = {6, 12};
    expected[block + "mlp_channels.fc2.bias"] = {6};
  }
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace gated
