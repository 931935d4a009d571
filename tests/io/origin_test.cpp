#include "gated/io/origin.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <span>

#include "files.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/io/fairseq.hpp"
#include "gated/io/lucidrains.hpp"
#include "gated/io/mmpose.hpp"
#include "gated/io/timm.hpp"
#include "gated/io/tiny_time_mixer.hpp"
#include "gated/models/pose_head.hpp"
#include "gated/models/presets.hpp"
#include "gated/models/tiny_time_mixer.hpp"

namespace gated::origin_test {
namespace {

using test::temporary;

const Origin* origin_of_case(const std::string& name) {
  return origin_of(SafetensorsFile(std::filesystem::path(GATED_REFERENCE_DIR) / (name + ".safetensors")));
}

TEST(Origin, IsRecognisedByTensorNames) {
  const std::pair<const char*, const char*> cases[] = {
      {"timm_gmlp_small", "timm_names()"},
      {"timm_gmlp_small_features", "timm_names()"},
      {"timm_mixer_grad", "timm_mixer_names()"},
      {"timm_gmixer_grad", "timm_gmixer_names()"},
      {"timm_resmlp_grad", "timm_resmlp_names()"},
      {"fnet_model", "fnet_names()"},
      {"fnet_mlm", "fnet_names()"},
      {"fnet_pretraining_grad", "fnet_names()"},
      {"fnet_encoder", "fnet_encoder_names()"},
      {"lucid_gmlpvision", "lucidrains_vision_names(lucidrains_layout(file))"},
      {"lucid_gmlp_causal", "lucidrains_language_model_names(lucidrains_layout(file))"},
      {"lucid_amlp_noncausal", "lucidrains_language_model_names(lucidrains_layout(file))"},
      {"lucid_gmlp_shift1_causal", "lucidrains_language_model_names(lucidrains_layout(file))"},
      {"lucid_gmlp_features_causal_grad", "lucidrains_trunk_names(lucidrains_layout(file))"},
      {"lucid_flashtr_causal", "lucidrains_flash_transformer_names()"},
      {"lucid_flash_noncausal", "lucidrains_flash_names()"},
      {"lucid_gau_causal", "lucidrains_gau_names()"},
      {"junnyu_flashquad_model", "flash_quad_names()"},
      {"junnyu_flashquad_mlm", "flash_quad_names()"},
      {"junnyu_flash_model", "junnyu_flash_names()"},
      {"gau_alpha_softmaxplus_mask", "gau_alpha_names()"},
      {"rtmcc_self", "rtmcc_names()"},
      {"rtmcc_head", "rtmcc_head_names()"},
      {"kwmlp_postnorm", "kw_mlp_names()"},
      {"labml_gmlp_block", "labml_block_names()"},
      {"light_conv_encoder_postnorm", "fairseq_block_names(fairseq_layout(file))"},
      {"dynamic_conv_decoder_today", "fairseq_block_names(fairseq_layout(file))"},
      {"ttm_grad", "ttm_names(forecaster_layout(file))"},
      {"ttm_sincos_stride", "ttm_names(forecaster_layout(file))"},
      {"patchtsmixer_mix_channel", "patchtsmixer_names()"},
  };
  for (const auto& [name, names] : cases) {
    const Origin* const origin = origin_of_case(name);
    ASSERT_NE(origin, nullptr) << name;
    EXPECT_EQ(names_call(*origin), names) << name;
  }
  EXPECT_EQ(origin_of_case("components"), nullptr);
  EXPECT_EQ(origin_of_case("light_conv_same_grad"), nullptr) << "a convolution alone";
}

TEST(Origin, RecognisesFacebooksResmlps) {
  const auto path = temporary("model.safetensors");
  ResmlpImageClassifierConfig config = resmlp_12_224();
  config.trunk.block.channels = 4;
  config.image = {32, 32};
  save_parameters(ResmlpImageClassifier<float>(config), path, {}, facebook_resmlp_names());
  const Origin* const origin = origin_of(SafetensorsFile(path));
  ASSERT_NE(origin, nullptr);
  EXPECT_STREQ(origin->names, "facebook_resmlp_names");
}

TEST(Origin, DoesNotRecogniseTinyTimeMixerR3) {
  const auto path = temporary("model.safetensors");
  const TinyTimeMixerConfig config{.context = 16, .backbone = {.depth = 1}, .decoder = {.depth = 1}};
  NameMap names = ttm_names(config);
  save_parameters(TinyTimeMixer<float>(config), path, {}, names);
  ASSERT_NE(origin_of(SafetensorsFile(path)), nullptr);
  names.prefix = "residual_forecaster.";
  save_parameters(TinyTimeMixer<float>(config), path, {}, names);
  EXPECT_EQ(origin_of(SafetensorsFile(path)), nullptr);
}

TEST(Origin, DistinguishesKeywordMlpFromEarlyGmlpVision) {
  const auto path = temporary("model.safetensors");
  const auto names_of_saved = [&](const GmlpImageClassifierConfig& config) {
    save_parameters(GmlpImageClassifier<float>(config), path, {}, kw_mlp_names());
    return std::string(origin_of(SafetensorsFile(path))->names);
  };
  auto config = kw_mlp(3);
  config.trunk.depth = 1;
  EXPECT_EQ(names_of_saved(config), "kw_mlp_names");
  config.image_channels = 3;
  config.image = {8, 8};
  config.patch = {4, 4};
  EXPECT_EQ(names_of_saved(config), "lucidrains_vision_names");
  config.image = {8, 12};
  EXPECT_EQ(names_of_saved(config), "kw_mlp_names");
}

TEST(Origin, DoesNotRecogniseLayersWithCrossAttention) {
  const auto path = temporary("model.safetensors");
  NameMap names = fairseq_block_names();
  names.prefix = "decoder.layers.0.";
  save_parameters(LightConvBlock<float>(fairseq_block(4, 5, {})), path, {}, names);
  ASSERT_NE(origin_of(SafetensorsFile(path)), nullptr);
  names.rules.insert(names.rules.begin(), {.ours = "channels.norm", .theirs = "encoder_attn.k_proj"});
  save_parameters(LightConvBlock<float>(fairseq_block(4, 5, {})), path, {}, names);
  EXPECT_EQ(origin_of(SafetensorsFile(path)), nullptr);
}

TEST(Origin, FindsPrefixAndBodyAtAnyDepth) {
  for (const char* name : {"timm_gmlp_small", "lucid_gmlp_causal", "lucid_gmlpvision", "fnet_mlm", "fnet_model",
                           "junnyu_flashquad_mlm", "rtmcc_self", "rtmcc_head", "kwmlp_postnorm", "labml_gmlp_block",
                           "light_conv_encoder_postnorm", "ttm_sincos_stride", "patchtsmixer_mix_channel"}) {
    const SafetensorsFile file(std::filesystem::path(GATED_REFERENCE_DIR) / text(name, ".safetensors"));
    EXPECT_EQ(names_of(file, *origin_of(file)).prefix, "model.") << name;
  }
  const SafetensorsFile mlm(std::filesystem::path(GATED_REFERENCE_DIR) / "fnet_mlm.safetensors");
  EXPECT_EQ(names_of(mlm, *origin_of(mlm)).body, "fnet.");
}

TEST(Origin, NamesAnExistingHeaderAndFunction) {
  for (const Origin& origin : known_origins()) {
    const auto header = std::filesystem::path(GATED_REFERENCE_DIR) / "../../include" / origin.header;
    ASSERT_TRUE(std::filesystem::exists(header)) << header;
    EXPECT_NE(test::read_text(header).find(text("NameMap ", origin.names, "(")), std::string::npos) << origin.names;
  }
}

TEST(Origin, CountsBlocksUpToTheFirstGap) {
  std::string header = "{";
  for (const char* const name :
       {"m.blocks.0.w", "m.blocks.2.w", "m.blocks.1.w", "blocks.1.w", "m.blocks.4.w", "blocks.3.b", "other_blocks.3.w",
        "blocks.3.w.w", "blocks.-3.w", "blocks.99999999999999999999.w", "blocks..w"}) {
    header += text(header.size() > 1 ? "," : "", "\"", name, R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})");
  }
  header += "}";
  const std::uint64_t size = header.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes += header;
  const auto file = SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "blocks");
  EXPECT_EQ(count_blocks(file, "blocks.", ".w"), 3);
  EXPECT_EQ(count_blocks(file, "blocks.", ".b"), 0);
}

TEST(Origin, PresetsAreRecognisedByShapes) {
  const auto path = temporary("model.safetensors");
  for (const auto& [config, preset] : {std::pair(gmlp_ti16_224(), "gmlp_ti16_224()"),
                                       {gmlp_ti16_224(37), "gmlp_ti16_224(37)"},
                                       {gmlp_s16_224(), "gmlp_s16_224()"}}) {
    save_parameters(GmlpImageClassifier<float>(config), path, {}, timm_names());
    EXPECT_EQ(preset_of(SafetensorsFile(path)), preset);
  }
  const auto preset_of_saved = [&](const auto& config) {
    save_parameters(ImageClassifierFor<std::remove_cvref_t<decltype(config)>, float>(config), path, {}, timm_names_for(config));
    return preset_of(SafetensorsFile(path));
  };
  EXPECT_EQ(preset_of_saved(mixer_s32_224()), "mixer_s32_224()");
  EXPECT_EQ(preset_of_saved(mixer_s16_224(21843)), "mixer_s16_224(21843)");
  EXPECT_EQ(preset_of_saved(gmixer_12_224()), "gmixer_12_224()");
  EXPECT_EQ(preset_of_saved(resmlp_12_224(0)), "resmlp_12_224(0)");
  save_parameters(GmlpImageClassifier<float>(kw_mlp()), path, {}, kw_mlp_names());
  EXPECT_EQ(preset_of(SafetensorsFile(path)), "kw_mlp()");
  save_parameters(GmlpImageClassifier<float>(kw_mlp(12)), path, {}, kw_mlp_names());
  EXPECT_EQ(preset_of(SafetensorsFile(path)), "kw_mlp(12)");
  save_parameters(PoseHead<float>(rtmpose_s_head()), path, {}, rtmcc_head_names());
  EXPECT_EQ(preset_of(SafetensorsFile(path)), "rtmpose_s_head(17, {256, 192})");
  save_parameters(PoseHead<float>(rtmpose_x_head()), path, {}, rtmcc_head_names());
  EXPECT_EQ(preset_of(SafetensorsFile(path)), "rtmpose_x_head(26, {384, 288})");
  auto other_head = rtmpose_t_head();
  other_head.kernel = 1;
  save_parameters(PoseHead<float>(other_head), path, {}, rtmcc_head_names());
  EXPECT_EQ(preset_of(SafetensorsFile(path)), "");
  auto other = gmlp_ti16_224();
  other.trunk.depth = 29;
  save_parameters(GmlpImageClassifier<float>(other), path, {}, timm_names());
  EXPECT_EQ(preset_of(SafetensorsFile(path)), "");
  EXPECT_EQ(preset_of(SafetensorsFile(std::filesystem::path(GATED_REFERENCE_DIR) / "timm_gmlp_small.safetensors")), "");
}

TEST(Origin, IsReportedOnMismatch) {
  const auto path = temporary("model.safetensors");
  save_parameters(GmlpImageClassifier<float>(gmlp_ti16_224(37)), path, {}, timm_names());
  GmlpImageClassifier<float> model(gmlp_s16_224());
  const auto report = [&](const NameMap& names) {
    const std::string what = test::error_of<FileError>([&] { load_parameters(model, SafetensorsFile(path), names); });
    EXPECT_LE(std::count(what.begin(), what.end(), '\n'), 11) << what;
    return what;
  };
  const std::string without_names = report({});
  EXPECT_NE(without_names.find("\n  These are timm's names: pass timm_names() of gated/io/timm.hpp. The shapes are those of "
                               "gmlp_ti16_224(37).\n"),
            std::string::npos)
      << without_names;
  EXPECT_EQ(without_names.find("nearest"), std::string::npos) << "foreign names get no suggestions";
  const std::string with_names = report(timm_names());
  EXPECT_NE(with_names.find("\n  The shapes are those of gmlp_ti16_224(37).\n"), std::string::npos) << with_names;
  EXPECT_NE(with_names.find("0 missing, 0 unexpected, 246 mis-shaped"), std::string::npos) << with_names;
  EXPECT_NE(with_names.find("mis-shaped"), std::string::npos);
}

}  // namespace
}  // namespace gated::origin_test
