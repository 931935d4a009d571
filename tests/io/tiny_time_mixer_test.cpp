#include "gated/io/tiny_time_mixer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "gated/io/safetensors_writer.hpp"
#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::tiny_time_mixer_test {
namespace {

using test::message_of;
using Json = nlohmann::json;

/// The published config.json of 512-96-r2, including fields that gated does not need.
const char* const published = R"({
  "_name_or_path": "TTM", "adaptive_patching_levels": 3, "architectures": ["TinyTimeMixerForPrediction"],
  "context_length": 512, "d_model": 192, "d_model_scale": 3, "decoder_adaptive_patching_levels": 0,
  "decoder_d_model": 128, "decoder_d_model_scale": 2, "decoder_mode": "common_channel", "decoder_num_layers": 2,
  "decoder_raw_residual": false, "distribution_output": "student_t", "dropout": 0.4,
  "enable_forecast_channel_mixing": false, "exogenous_channel_indices": null, "expansion_factor": 2,
  "fcm_context_length": 1, "fcm_gated_attn": true, "fcm_mix_layers": 3, "fcm_prepend_past": true,
  "fcm_use_mixer": true, "frequency_token_vocab_size": 5, "gated_attn": true, "head_dropout": 0.4,
  "init_processing": true, "init_std": 0.02, "loss": "mse", "mode": "common_channel",
  "model_type": "tinytimemixer", "norm_eps": 1e-05, "norm_mlp": "LayerNorm", "num_input_channels": 1,
  "num_layers": 2, "num_parallel_samples": 100, "num_patches": 8, "patch_last": true, "patch_length": 64,
  "patch_stride": 64, "positional_encoding_type": "sincos", "post_init": false,
  "prediction_channel_indices": null, "prediction_filter_length": null, "prediction_length": 96,
  "resolution_prefix_tuning": false, "scaling": "std", "self_attn": false, "self_attn_heads": 1,
  "torch_dtype": "float32", "transformers_version": "4.37.2", "use_decoder": true,
  "use_positional_encoding": false})";

std::string changed(const std::string& json, const Json& fields) {
  Json object = Json::parse(json);
  object.update(fields);
  return object.dump();
}

TEST(TtmConfig, ReadsAPublishedConfig) {
  TinyTimeMixerConfig expected = ttm_512_96();
  expected.dropout = expected.head_dropout = 0.4;
  EXPECT_EQ(to_json(ttm_config(published)), to_json(expected));
  expected.resolutions = 8;
  EXPECT_EQ(to_json(ttm_config(changed(
                published, {{"resolution_prefix_tuning", true}, {"frequency_token_vocab_size", 8}, {"num_patches", 9}}))),
            to_json(expected));
}

TEST(TtmConfig, HasTheDefaultsOfTheOriginal) {
  const TinyTimeMixerConfig c = ttm_config("{}");
  EXPECT_EQ(to_json(c), to_json(TinyTimeMixerConfig()));
  EXPECT_EQ(to_json(ttm_config(R"({"adaptive_patching_levels": -1, "decoder_adaptive_patching_levels": -2})")), to_json(c));
  EXPECT_EQ(c.context, 64);
  EXPECT_EQ(c.backbone.depth, 3);
  EXPECT_EQ(c.decoder.depth, 8);
  EXPECT_EQ(c.decoder.channels, 8);
  const TinyTimeMixerConfig other = patchtsmixer_config("{}");
  EXPECT_EQ(other.context, 32);
  EXPECT_EQ(other.backbone.channels, 8);
  EXPECT_FALSE(other.has_decoder);
  EXPECT_TRUE(other.mixes_single_patch);
}

TEST(TtmConfig, ReadsEveryScalingOfTheOriginal) {
  const auto scaling = [](const Json& value) { return ttm_config(Json{{"scaling", value}}.dump()).scaling; };
  EXPECT_EQ(scaling("std"), SeriesScaling::standard);
  EXPECT_EQ(scaling(true), SeriesScaling::standard) << "despite the original's documentation";
  EXPECT_EQ(scaling("mean"), SeriesScaling::mean);
  EXPECT_EQ(scaling(nullptr), SeriesScaling::none);
  EXPECT_EQ(scaling(false), SeriesScaling::none);
  EXPECT_EQ(scaling("none"), SeriesScaling::none);
}

TEST(TtmConfig, ReadsTheTrainingLoss) {
  EXPECT_EQ(forecaster_loss("{}").name, "mse");
  EXPECT_EQ(forecaster_loss(changed(published, {{"loss", "mae"}})).name, "mae");
  EXPECT_EQ(forecaster_loss(R"({"loss": "pinball", "quantile": 0.9})").quantile, 0.9);
  EXPECT_EQ(forecaster_loss(R"({"loss": "huber", "huber_delta": 2.5})").delta, 2.5);
  EXPECT_EQ(message_of<ArgumentError>([] { forecaster_loss(R"({"loss": "nll"})"); }),
            "config.json: loss = \"nll\", expected \"mse\", \"mae\", \"huber\" or \"pinball\".");
}

TEST(TtmConfig, NamesTheFieldOfAnUnsupportedModel) {
  const auto message = [](const Json& fields) {
    return message_of<ArgumentError>([&] { ttm_config(changed(published, fields)); });
  };
  const std::string r3 = ", which only TinyTimeMixer r3 has. gated does not support this model.";
  EXPECT_EQ(message({{"decompose", true}}), "config.json: decompose = true" + r3);
  EXPECT_EQ(message({{"multi_quantile_head", true}}), "config.json: multi_quantile_head = true" + r3);
  EXPECT_EQ(message({{"register_tokens", 4}}), "config.json: register_tokens = 4" + r3);
  EXPECT_EQ(message({{"gate_mode", "glu"}}), "config.json: gate_mode = \"glu\"" + r3);
  EXPECT_NO_THROW(ttm_config(changed(published, {{"decompose", false}, {"register_tokens", 0}, {"gate_mode", "softmax"}})));
  EXPECT_EQ(message({{"architectures", {"TinyTimeMixerForDecomposedPrediction"}}}),
            "config.json: architectures = [\"TinyTimeMixerForDecomposedPrediction\"], expected "
            "TinyTimeMixerForPrediction.");
  EXPECT_EQ(message({{"model_type", "timesfm"}}), "config.json: model_type = \"timesfm\", expected \"tinytimemixer\".");
  EXPECT_EQ(message({{"norm_mlp", "BatchNorm"}}),
            "config.json: norm_mlp = \"BatchNorm\", expected \"LayerNorm\", the only norm that is supported.");
  EXPECT_EQ(message({{"self_attn", true}}), "config.json: self_attn = true, but self-attention is not supported.");
  EXPECT_EQ(message({{"loss", "nll"}}), "config.json: loss = \"nll\", expected \"mse\", \"mae\", \"huber\" or \"pinball\".");
  EXPECT_NE(message({{"categorical_vocab_size_list", {3}}}), "");
  EXPECT_NE(message({{"masked_context_length", 8}}), "");
}

TEST(TtmConfig, RefusesContradictionsAndWrongTypes) {
  const auto message = [](const Json& fields) {
    return message_of<ArgumentError>([&] { ttm_config(changed(published, fields)); });
  };
  EXPECT_EQ(
      message({{"num_patches", 9}}),
      "config.json: num_patches = 9 contradicts context_length = 512, patch_length = 64 and patch_stride = 64, which give 8.");
  EXPECT_EQ(message({{"context_length", "512"}}), "config.json: context_length is \"512\", expected a whole number.");
  EXPECT_EQ(message({{"mode", "all"}}), "config.json: mode = \"all\", expected \"common_channel\" or \"mix_channel\".");
  EXPECT_EQ(message({{"enable_forecast_channel_mixing", true}, {"fcm_prepend_past_offset", 0}}),
            "config.json: fcm_prepend_past_offset = 0, expected null or a positive number.");
  EXPECT_EQ(message_of<ArgumentError>([] { ttm_config("[]"); }), "config.json is [], expected a JSON object.");
}

/// Writes a folder like a published one, with the configuration and parameters of a reference case.
std::filesystem::path folder_of(const std::string& name, const Json& fields, const std::string& more_tensors = {}) {
  const SafetensorsFile file(text(GATED_REFERENCE_DIR, "/", name, ".safetensors"));
  const Json recorded = Json::parse(file.metadata().at("config"));
  Json config = recorded.at("config_full");
  config.update(fields);
  const auto folder = test::temporary("folder");
  std::filesystem::create_directories(folder);
  test::write_text(folder / "config.json", config.dump());
  std::vector<TensorToWrite> tensors;
  for (const auto& [tensor, entry] : file.tensors()) {
    if (tensor.starts_with("model.")) {
      tensors.push_back({tensor.substr(6), entry.dtype, entry.shape, entry.bytes});
    }
  }
  if (!more_tensors.empty()) {
    tensors.push_back(tensors.front());
    tensors.back().name = more_tensors;
  }
  write_safetensors(folder / "model.safetensors", tensors, {});
  return folder;
}

TEST(LoadTtm, OpensAPublishedFolder) {
  const std::string name = "ttm_sincos_stride";
  const auto folder = folder_of(name, {{"model_type", "tinytimemixer"}, {"architectures", {"TinyTimeMixerForPrediction"}}});
  const auto model = load_ttm<double>(folder);
  const SafetensorsFile file(text(GATED_REFERENCE_DIR, "/", name, ".safetensors"));
  const auto numbers = file.read<double>("input"), expected = file.read<double>("output_f64");
  const Index items = 2, times = 35, series = 3, horizon = 6;
  Matrix<double> x(items * series, times);
  for (Index b = 0; b < items; ++b) {
    for (Index t = 0; t < times; ++t) {
      for (Index m = 0; m < series; ++m) {
        x(b * series + m, t) = numbers[static_cast<std::size_t>((b * times + t) * series + m)];
      }
    }
  }
  Workspace<double> workspace;
  const Matrix<double> y = model.forward(Matrix<double>(model.last_context(x)), Sequences::uniform(items, series), workspace);
  for (Index b = 0; b < items; ++b) {
    for (Index t = 0; t < horizon; ++t) {
      for (Index m = 0; m < series; ++m) {
        EXPECT_NEAR(y(b * series + m, t), expected[static_cast<std::size_t>((b * horizon + t) * series + m)], 1e-9);
      }
    }
  }
}

TEST(LoadTtm, RecognisesPatchTsMixerByItsModelType) {
  const auto model = load_ttm<float>(folder_of("patchtsmixer_mix_channel", {{"model_type", "patchtsmixer"}}));
  EXPECT_FALSE(model.decoder.has_value());
  EXPECT_TRUE(model.backbone.trunk.levels.front().blocks.front().series.has_value());
  const auto message = message_of<ArgumentError>([] {
    load_ttm<float>(folder_of("patchtsmixer_mix_channel",
                              {{"model_type", "patchtsmixer"}, {"architectures", {"PatchTSMixerForPretraining"}}}));
  });
  EXPECT_NE(message.find(", expected PatchTSMixerForPrediction."), std::string::npos) << message;
}

TEST(LoadTtm, RefusesIncompleteOrMismatchedFolders) {
  EXPECT_NE(message_of<FileError>([] { load_ttm<float>("/nowhere"); }).find("config.json: cannot open"), std::string::npos);
  const auto without_weights = folder_of("ttm_grad", Json::object());
  std::filesystem::remove(without_weights / "model.safetensors");
  EXPECT_NE(message_of<FileError>([&] { load_ttm<float>(without_weights); }).find("model.safetensors"), std::string::npos);
  const std::string more =
      message_of<FileError>([] { load_ttm<float>(folder_of("ttm_grad", Json::object(), "residual_forecaster.head.weight")); });
  EXPECT_NE(more.find("residual_forecaster.head.weight"), std::string::npos) << more;
  const std::string wider = message_of<FileError>([] { load_ttm<float>(folder_of("ttm_grad", {{"decoder_d_model", 8}})); });
  EXPECT_NE(wider.find("decoder.adapter.weight"), std::string::npos) << wider;
  const std::string huge = message_of<FileError>([] { load_ttm<float>(folder_of("ttm_grad", {{"d_model", 1 << 20}})); });
  EXPECT_NE(huge.find("The model was not built."), std::string::npos) << huge;
}

TEST(TtmNames, RoundTrip) {
  for (const char* const name : {"ttm_prefix_raw_residual_position", "ttm_levels_disabled", "ttm_grad_frozen_exogenous"}) {
    const SafetensorsFile original(text(GATED_REFERENCE_DIR, "/", name, ".safetensors"));
    const auto model = load_ttm<float>(folder_of(name, Json::object()));
    const auto path = test::temporary("written.safetensors");
    save_parameters(model, path, {}, ttm_names(model.config));
    std::set<std::string> written, expected;
    const SafetensorsFile file(path);
    for (const auto& [tensor, entry] : file.tensors()) {
      written.insert("model." + tensor);
    }
    for (const auto& [tensor, entry] : original.tensors()) {
      if (tensor.starts_with("model.")) {
        expected.insert(tensor);
      }
    }
    EXPECT_EQ(written, expected) << name;
  }
}

}  // namespace
}  // namespace gated::tiny_time_mixer_test
