#include "gated/io/timm.hpp"
#include "gated/io/timm_config.hpp"

#include <gtest/gtest.h>

#include <map>

#include "files.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/io/config_json.hpp"
#include "gated/io/image_input.hpp"

namespace gated::timm_test {
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

TEST(TimmConfig, ArgumentsOverrideTheModelEntry) {
  const auto config = timm_config(R"({"embed_dim": 64, "num_classes": 10, "entry": "gmlp_s16_224"})");
  EXPECT_EQ(config.trunk.channels, 64);
  EXPECT_EQ(config.trunk.hidden, 384);
  EXPECT_EQ(config.trunk.depth, 30);
  EXPECT_EQ(config.classes, 10);
}

TEST(TimmConfig, ReadsEveryArgument) {
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
  EXPECT_EQ(config.pooling, Pooling::tokens);
  EXPECT_EQ(config.pixel_mean, PerChannel(0.25));
  EXPECT_EQ(config.pixel_deviation, PerChannel(2));

  const auto short_names = timm_config(R"({"image_size": 64, "patch_size": 8, "dim": 20, "hidden": 44, "depth": 2})");
  EXPECT_EQ(short_names.image, (ImageSize{64, 64}));
  EXPECT_EQ(short_names.patch, (ImageSize{8, 8}));
  EXPECT_EQ(short_names.trunk.channels, 20);
  EXPECT_EQ(short_names.trunk.hidden, 44);
  EXPECT_EQ(short_names.trunk.depth, 2);
  EXPECT_EQ(short_names.pooling, Pooling::mean);
}

TEST(TimmConfig, AcceptsAPublishedNameAsArchitecture) {
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
  expected.pixel_mean = {0.25};
  expected.pixel_deviation = {0.125};
  EXPECT_EQ(to_json(config), to_json(expected));
  EXPECT_EQ(timm_config(R"({"in_chans": 2, "pretrained_cfg": {"input_size": [3, 8, 8]}})").image_channels, 2);
  for (const char* const wrong :
       {R"({"pretrained_cfg": 3})", R"({"pretrained_cfg": {"input_size": [3, 8]}})",
        R"({"pretrained_cfg": {"input_size": [3, "8", 8]}})",
        R"({"pretrained_cfg": {"input_size": [3, 18446744073709551615, 8]}})", R"({"pretrained_cfg": {"std": []}})",
        R"({"pretrained_cfg": {"std": [1, 2]}})", R"({"pretrained_cfg": {"crop_mode": "squash"}})",
        R"({"pretrained_cfg": {"interpolation": "lanczos"}})", R"({"model_args": [3]})", R"({"model_args": {"colour": 3}})"}) {
    EXPECT_THROW(timm_config(wrong), ArgumentError) << wrong;
  }
}

TEST(TimmConfig, AcceptsThreeMeansForOneChannel) {
  // timm's in_chans does not change the means in pretrained_cfg.
  ResmlpImageClassifierConfig config = timm_config<ResmlpImageClassifierConfig>(
      R"({"architecture": "resmlp_12_224", "num_classes": 3, "model_args": {"in_chans": 1, "img_size": 32, "num_blocks": 1},
          "pretrained_cfg": {"input_size": [3, 224, 224], "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}})");
  Random random(1);
  const ResmlpImageClassifier<float> model(config, random);
  Workspace<float> workspace;
  EXPECT_TRUE(model.forward(Matrix<float>::Ones(1, 32 * 32), workspace).allFinite());
  const Image picture{1, 1, 1, {255}};
  expect_error<ArgumentError>([&] { image_input<float>(picture, config); },
                              {"three values, but images have 1 channel.", "config.pixel_mean = "});
  config.pixel_mean = config.pixel_deviation = 0.5;
  EXPECT_EQ(image_input<float>(picture, config)(0, 0), 1);
  const auto grey = timm_config(R"({"in_chans": 1, "mean": [0.5], "std": [0.25]})");
  EXPECT_EQ(grey.pixel_mean, PerChannel(0.5));
  EXPECT_EQ(grey.pixel_deviation, PerChannel(0.25));
}

TEST(TimmConfig, ReadsTheConfigJsonOfAFineTunedModel) {
  // In the format of timm.models.push_to_hf_hub().
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

  // Older files have no nested pretrained_cfg.
  EXPECT_EQ(to_json(timm_config(R"({"architecture": "gmlp_s16_224", "num_classes": 2, "input_size": [3, 64, 64], "model_args":
      {"num_blocks": 4}, "fixed_input_size": true, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
      "crop_pct": 0.9, "interpolation": "bilinear", "first_conv": "stem.proj", "classifier": "head"})")),
            to_json(expected));
}

TEST(TimmConfig, RefusesUnknownArguments) {
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
                                 R"({"act_layer": 3})",
                                 R"({"act_layer": "Maxout"})",
                                 R"({"norm_layer": "Affine"})",
                                 R"({"entry": 5})",
                                 "[]",
                                 "5",
                                 "",
                                 "{",
                                 "{\"a\": 1, }"}) {
    EXPECT_THROW(timm_config(json), ArgumentError) << json;
  }
}

TEST(TimmConfig, KnowsThePublishedMixers) {
  EXPECT_EQ(to_json(timm_config<MixerImageClassifierConfig>(R"({"architecture": "mixer_l32_224"})")), to_json(mixer_l32_224()));
  EXPECT_EQ(to_json(timm_config<GmixerImageClassifierConfig>(R"({"entry": "gmixer_12_224"})")), to_json(gmixer_12_224()));
  EXPECT_EQ(to_json(timm_config<ResmlpImageClassifierConfig>(R"({"entry": "resmlp_big_24_224.fb_dino", "num_classes": 0})")),
            to_json(resmlp_big_24_224(0)));
  EXPECT_EQ(to_json(timm_config<MixerImageClassifierConfig>("{}")), to_json(mixer_s16_224())) << "timm's defaults";
  expect_error<ArgumentError>([] { timm_config<MixerImageClassifierConfig>(R"({"entry": "resmlp_12_224"})"); },
                              {"entry = resmlp_12_224, expected mixer_s32_224"});
}

TEST(TimmConfig, ReadsBothMlpRatiosAndRoundsSizesDown) {
  const auto sizes = [](const auto& config) {
    return std::pair(config.trunk.block.token_mixer.hidden, config.trunk.block.channel_mixer.hidden);
  };
  using Sizes = std::pair<Index, Index>;
  EXPECT_EQ(sizes(timm_config<MixerImageClassifierConfig>(R"({"embed_dim": 9})")), (Sizes{4, 36}));
  EXPECT_EQ(sizes(timm_config<MixerImageClassifierConfig>(R"({"embed_dim": 9, "mlp_ratio": 2})")), (Sizes{18, 18}));
  EXPECT_EQ(sizes(timm_config<GmixerImageClassifierConfig>(R"({"embed_dim": 10, "mlp_ratio": [1.0, 3.0]})")), (Sizes{5, 15}));
  EXPECT_EQ(timm_config<ResmlpImageClassifierConfig>(R"({"embed_dim": 7, "mlp_ratio": 3})").trunk.block.channel_mixer.hidden,
            21);
  expect_error<ArgumentError>([] { timm_config<GmixerImageClassifierConfig>(R"({"embed_dim": 9})"); },
                              {"expected even numbers"});
}

TEST(TimmConfig, DerivesTheKindOfModelFromItsName) {
  const auto architecture = [](std::string_view json) {
    return with_timm_config(json, [](const auto& config) {
      return std::string(ImageClassifierFor<std::remove_cvref_t<decltype(config)>, float>::architecture);
    });
  };
  EXPECT_EQ(architecture("{}"), GmlpImageClassifier<float>::architecture);
  EXPECT_EQ(architecture(R"({"entry": "gmlp_s16_224.ra3_in1k"})"), GmlpImageClassifier<float>::architecture);
  EXPECT_EQ(architecture(R"({"architecture": "mixer_b16_224"})"), MixerImageClassifier<float>::architecture);
  EXPECT_EQ(architecture(R"({"architecture": "gmixer_24_224"})"), GmixerImageClassifier<float>::architecture);
  EXPECT_EQ(architecture(R"({"architecture": "resmlp_24_224"})"), ResmlpImageClassifier<float>::architecture);
  expect_error<ArgumentError>([&] { architecture(R"({"entry": "mixer_x_224"})"); },
                              {"entry = mixer_x_224", "gmlp_s16_224", "mixer_b16_224", "gmixer_24_224", "resmlp_big_24_224."});
}

TEST(TimmConfig, KnowsThePixelScalingOfPublishedModels) {
  const PerChannel imagenet{0.485, 0.456, 0.406};
  with_timm_config(R"({"architecture": "mixer_b16_224", "num_classes": 11221,
                       "pretrained_cfg": {"tag": "miil_in21k", "interpolation": "bilinear", "mean": [0.0, 0.0, 0.0],
                                          "std": [1.0, 1.0, 1.0]}})",
                   [](const auto& config) {
                     EXPECT_EQ(config.pixel_mean, PerChannel(0));
                     EXPECT_EQ(config.pixel_deviation, PerChannel(1));
                     EXPECT_EQ(config.interpolation, Interpolation::bilinear);
                     EXPECT_EQ(config.classes, 11221);
                   });
  const auto named = timm_config<MixerImageClassifierConfig>(R"({"entry": "mixer_b16_224.miil_in21k_ft_in1k"})");
  EXPECT_EQ(named.pixel_mean, PerChannel(0));
  EXPECT_EQ(named.interpolation, Interpolation::bilinear);
  EXPECT_EQ(named.classes, 1000);
  const auto google = timm_config<MixerImageClassifierConfig>(R"({"entry": "mixer_b16_224.goog_in21k"})");
  EXPECT_EQ(google.pixel_mean, PerChannel(0.5));
  EXPECT_EQ(google.classes, 21843);
  EXPECT_EQ(timm_config<MixerImageClassifierConfig>(R"({"entry": "mixer_b16_224.miil_in21k"})").classes, 11221);
  EXPECT_EQ(timm_config<MixerImageClassifierConfig>(R"({"entry": "mixer_b16_224.goog_in21k", "num_classes": 7})").classes, 7);
  EXPECT_EQ(resmlp_24_224().pixel_mean, imagenet);
  EXPECT_EQ(gmixer_24_224().pixel_mean, imagenet);
}

/// Names and shapes of all tensors in the file of a model. Parameters that share a tensor share one entry.
template <class Model>
std::map<std::string, std::vector<Index>> tensors_of(const Model& model, const NameMap& names) {
  std::map<std::string, std::vector<Index>> tensors;
  for_each_parameter(
      [&](const ParameterInfo& info, auto) {
        const FileTensor tensor = names.in_file(info.path(), info.shape);
        tensors[tensor.name] = tensor.shape;
      },
      model);
  return tensors;
}

TEST(TimmNames, CoverEveryParameterOfTheMixers) {
  using Tensors = std::map<std::string, std::vector<Index>>;
  const std::string sizes = R"({"img_size": [8, 12], "patch_size": 4, "embed_dim": 6, "num_blocks": 1, "num_classes": 5,
                                "stem_norm": true})";
  const Tensors common{{"stem.proj.weight", {6, 3, 4, 4}},
                       {"stem.proj.bias", {6}},
                       {"head.weight", {5, 6}},
                       {"head.bias", {5}},
                       {"blocks.0.mlp_channels.fc1.weight", {24, 6}},
                       {"blocks.0.mlp_channels.fc1.bias", {24}},
                       {"blocks.0.mlp_channels.fc2.bias", {6}}};
  const auto with = [&](Tensors others) {
    others.insert(common.begin(), common.end());
    return others;
  };
  const Tensors norms = with({{"stem.norm.weight", {6}},
                              {"stem.norm.bias", {6}},
                              {"blocks.0.norm1.weight", {6}},
                              {"blocks.0.norm1.bias", {6}},
                              {"blocks.0.norm2.weight", {6}},
                              {"blocks.0.norm2.bias", {6}},
                              {"norm.weight", {6}},
                              {"norm.bias", {6}},
                              {"blocks.0.mlp_tokens.fc2.bias", {6}}});
  Tensors mixer = norms, gmixer = norms;
  mixer.insert({{"blocks.0.mlp_tokens.fc1.weight", {3, 6}},
                {"blocks.0.mlp_tokens.fc1.bias", {3}},
                {"blocks.0.mlp_tokens.fc2.weight", {6, 3}},
                {"blocks.0.mlp_channels.fc2.weight", {6, 24}}});
  gmixer.insert({{"blocks.0.mlp_tokens.fc1.weight", {6, 6}},
                 {"blocks.0.mlp_tokens.fc1.bias", {6}},
                 {"blocks.0.mlp_tokens.fc2.weight", {6, 3}},
                 {"blocks.0.mlp_channels.fc2.weight", {6, 12}}});
  EXPECT_EQ(tensors_of(MixerImageClassifier<float>(timm_config<MixerImageClassifierConfig>(sizes)), timm_mixer_names()), mixer);
  EXPECT_EQ(tensors_of(GmixerImageClassifier<float>(timm_config<GmixerImageClassifierConfig>(sizes)), timm_gmixer_names()),
            gmixer);
  const ResmlpImageClassifier<float> resmlp(timm_config<ResmlpImageClassifierConfig>(sizes));
  EXPECT_EQ(tensors_of(resmlp, timm_resmlp_names()), with({{"stem.norm.alpha", {1, 1, 6}},
                                                           {"stem.norm.beta", {1, 1, 6}},
                                                           {"blocks.0.norm1.alpha", {1, 1, 6}},
                                                           {"blocks.0.norm1.beta", {1, 1, 6}},
                                                           {"blocks.0.norm2.alpha", {1, 1, 6}},
                                                           {"blocks.0.norm2.beta", {1, 1, 6}},
                                                           {"norm.alpha", {1, 1, 6}},
                                                           {"norm.beta", {1, 1, 6}},
                                                           {"blocks.0.linear_tokens.weight", {6, 6}},
                                                           {"blocks.0.linear_tokens.bias", {6}},
                                                           {"blocks.0.ls1", {6}},
                                                           {"blocks.0.ls2", {6}},
                                                           {"blocks.0.mlp_channels.fc2.weight", {6, 24}}}));
  const auto facebook = tensors_of(resmlp, facebook_resmlp_names());
  for (const auto& [name, shape] : Tensors{{"patch_embed.proj.weight", {6, 3, 4, 4}},
                                           {"blocks.0.attn.weight", {6, 6}},
                                           {"blocks.0.mlp.fc1.weight", {24, 6}},
                                           {"blocks.0.gamma_1", {6}},
                                           {"blocks.0.norm1.alpha", {6}}}) {
    EXPECT_EQ(facebook.at(name), shape) << name;
  }
  EXPECT_EQ(facebook.size(), 20);
}

TEST(TimmNames, PackedGatesRoundTrip) {
  const auto config = timm_config<GmixerImageClassifierConfig>(
      R"({"img_size": [8, 12], "patch_size": 4, "embed_dim": 6, "num_blocks": 2, "num_classes": 5})");
  GmixerImageClassifier<float> model(config), read(config);
  Index count = 0;
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        std::generate(values.begin(), values.end(), [&] { return static_cast<float>(count++); });
      },
      model);
  const auto path = test::temporary("gmixer.safetensors");
  save_parameters(model, path, {}, timm_gmixer_names());
  const SafetensorsFile file(path);
  load_parameters(read, file, timm_gmixer_names());
  for_each_parameter(
      [](const ParameterInfo& info, auto a, auto b) { EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << info.path(); },
      model, read);
  const auto packed = file.read<float>("blocks.1.mlp_tokens.fc1.weight");
  EXPECT_EQ(packed.front(), model.trunk.blocks[1].tokens.mixer.up.weight(0, 0)) << "the gate is the second half";
  EXPECT_EQ(packed.back(), model.trunk.blocks[1].tokens.mixer.gate.weight(2, 5));
}

TEST(TimmNames, CoverEveryParameterOfAClassifier) {
  const GmlpImageClassifier<float> model(timm_config(
      R"({"img_size": [8, 12], "patch_size": 4, "embed_dim": 6, "num_blocks": 2, "mlp_ratio": 4, "num_classes": 5,
          "stem_norm": true})"));
  std::map<std::string, std::vector<Index>> names;
  for_each_parameter(
      [&](const ParameterInfo& info, auto) {
        const FileTensor tensor = timm_names().in_file(info.path(), info.shape);
        EXPECT_TRUE(names.emplace(tensor.name, tensor.shape).second) << tensor.name << " occurs twice";
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
}  // namespace gated::timm_test
