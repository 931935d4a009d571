#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "gated/io/safetensors.hpp"

/// @file
/// Who wrote a checkpoint, told by the names in it.

namespace gated {

namespace detail {

/// The first tensor whose name is `ending`, or ends with it after a dot, and that name; nullptr without one.
inline std::pair<std::string_view, const TensorEntry*> named_ending(const SafetensorsFile& file, std::string_view ending) {
  for (const auto& [name, entry] : file.tensors()) {
    const std::size_t before = name.size() - std::min(name.size(), ending.size());
    if (name.ends_with(ending) && (before == 0 || name[before - 1] == '.')) {
      return {name, &entry};
    }
  }
  return {"", nullptr};
}

/// That tensor alone.
inline const TensorEntry* tensor_ending(const SafetensorsFile& file, std::string_view ending) {
  return named_ending(file, ending).second;
}

/// The numbers that stand for `*` in names that end with "blocks.*.rest", as far as there is one after the other.
inline Index count_blocks(const SafetensorsFile& file, std::string_view before, std::string_view after) {
  Index count = 0;
  while (tensor_ending(file, text(before, count, after)) != nullptr) {
    ++count;
  }
  return count;
}

/// Whether the token MLP of an image model returns from as many numbers as it goes to, or from half of them, which is a gMixer.
inline bool has_plain_token_mlp(const SafetensorsFile& file) {
  const TensorEntry* const in = tensor_ending(file, "blocks.0.mlp_tokens.fc1.weight");
  const TensorEntry* const out = tensor_ending(file, "blocks.0.mlp_tokens.fc2.weight");
  return in != nullptr && out != nullptr && in->shape.size() == 2 && out->shape.size() == 2 && in->shape[0] == out->shape[1];
}

/// Whether a forecaster is a TinyTimeMixer of the releases r1 and r2; r3 is another model, in which such a one is a part.
inline bool is_plain_forecaster(const SafetensorsFile& file) {
  return std::none_of(file.tensors().begin(), file.tensors().end(),
                      [](const auto& named) { return named.first.find("residual_forecaster.") != std::string::npos; });
}

}  // namespace detail

/// A writer of checkpoints, and how its files are opened here.
struct Origin {
  const char* writer;                ///< "timm"
  const char* names;                 ///< what to give load_parameters(): "timm_names()"
  const char* header;                ///< where that is: "gated/io/timm.hpp"
  const char* model;                 ///< the model to build: "GmlpImageClassifier"
  std::array<const char*, 2> marks;  ///< how names of tensors end that only such files have; the first has nothing before it
                                     ///< but what a larger model put there
  bool (*fits)(const SafetensorsFile&) = nullptr;  ///< what else must hold, where two models have the same names
};

/// The known writers, those whose marks say most first.
inline constexpr auto known_origins = std::to_array<Origin>({
    {"timm",
     "timm_names()",
     "gated/io/timm.hpp",
     "GmlpImageClassifier",
     {"blocks.0.mlp_channels.gate.proj.weight", "stem.proj.weight"}},
    {"timm",
     "timm_mixer_names()",
     "gated/io/timm.hpp",
     "MixerImageClassifier",
     {"blocks.0.mlp_tokens.fc1.weight", "stem.proj.weight"},
     detail::has_plain_token_mlp},
    {"timm",
     "timm_gmixer_names()",
     "gated/io/timm.hpp",
     "GmixerImageClassifier",
     {"blocks.0.mlp_tokens.fc1.weight", "stem.proj.weight"}},
    {"timm",
     "timm_resmlp_names()",
     "gated/io/timm.hpp",
     "ResmlpImageClassifier",
     {"blocks.0.linear_tokens.weight", "stem.proj.weight"}},
    {"Facebook",
     "facebook_resmlp_names()",
     "gated/io/timm.hpp",
     "ResmlpImageClassifier",
     {"blocks.0.attn.weight", "blocks.0.gamma_1"}},
    {"g-mlp-pytorch",
     "lucidrains_vision_names(lucidrains_layout(file))",
     "gated/io/lucidrains.hpp",
     "GmlpImageClassifier",
     {"to_patch_embed.1.weight", "proj_in.0.weight"}},
    {"g-mlp-pytorch",
     "lucidrains_language_model_names(lucidrains_layout(file))",
     "gated/io/lucidrains.hpp",
     "GmlpLanguageModel",
     {"to_embed.weight", "proj_in.0.weight"}},
    {"g-mlp-pytorch",
     "lucidrains_trunk_names(lucidrains_layout(file))",
     "gated/io/lucidrains.hpp",
     "Gmlp",
     {"layers.0.fn.norm.weight", "proj_in.0.weight"}},
    {"FLASH-pytorch",
     "lucidrains_flash_transformer_names()",
     "gated/io/lucidrains_flash.hpp",
     "FlashLanguageModel",
     {"token_emb.weight", "qk_offset_scale.gamma"}},
    {"FLASH-pytorch",
     "lucidrains_flash_names()",
     "gated/io/lucidrains_flash.hpp",
     "MixedChunkAttention",
     {"qk_offset_scale.gamma", "to_hidden.0.weight"}},
    {"FLASH-pytorch",
     "lucidrains_gau_names()",
     "gated/io/lucidrains_flash.hpp",
     "GatedAttentionUnit",
     {"offsetscale.gamma", "to_hidden.0.weight"}},
    {"FLASHQuad_pytorch",
     "flash_quad_names()",
     "gated/io/junnyu.hpp",
     "GauEncoder",
     {"embeddings.scaledsin_scalar", "uv.weight"}},
    {"FLASHQuad_pytorch",
     "junnyu_flash_names()",
     "gated/io/junnyu.hpp",
     "FlashLanguageModel",
     {"embeddings.scale", "qk_offset_scale.weight"}},
    {"GAU-alpha-pytorch",
     "gau_alpha_names()",
     "gated/io/junnyu.hpp",
     "GauEncoder",
     {"embeddings.word_embeddings.weight", "q_scaleoffset.weight"}},
    {"mmpose", "rtmcc_cross_names()", "gated/io/mmpose.hpp", "GatedCrossAttention", {"k_fc.weight", "uv.weight"}},
    {"mmpose", "rtmcc_names()", "gated/io/mmpose.hpp", "GatedAttentionUnit", {"ln.g", "uv.weight"}},
    {"labml", "labml_block_names()", "gated/io/labml.hpp", "GmlpBlock", {"proj1.weight", "sgu.weight"}},
    {"granite-tsfm",
     "ttm_names(forecaster_layout(file))",
     "gated/io/forecaster_names.hpp",
     "TinyTimeMixer",
     {"backbone.encoder.patcher.weight", "head.base_forecast_block.weight"},
     detail::is_plain_forecaster},
    {"transformers",
     "patchtsmixer_names()",
     "gated/io/forecaster_names.hpp",
     "TinyTimeMixer",
     {"model.encoder.patcher.weight", "head.base_forecast_block.weight"}},
    {"transformers",
     "fnet_names()",
     "gated/io/hugging_face.hpp",
     "Fnet",
     {"embeddings.projection.weight", "fourier.output.LayerNorm.weight"}},
    {"transformers",
     "fnet_encoder_names()",
     "gated/io/hugging_face.hpp",
     "FnetEncoder",
     {"layer.0.fourier.output.LayerNorm.weight", "layer.0.intermediate.dense.weight"}},
});

/// The writer of `file`, by the names of its tensors, whatever stands before them; nullptr for an unknown one.
inline const Origin* origin_of(const SafetensorsFile& file) {
  const auto found = std::find_if(known_origins.begin(), known_origins.end(), [&](const Origin& origin) {
    return std::all_of(origin.marks.begin(), origin.marks.end(),
                       [&](const char* mark) { return detail::tensor_ending(file, mark) != nullptr; }) &&
           (origin.fits == nullptr || origin.fits(file));
  });
  return found == known_origins.end() ? nullptr : &*found;
}

/// The preset of models/presets.hpp that has the shapes of a timm checkpoint, as C++: "gmlp_s16_224()", or
/// "gmlp_s16_224(37)" with another number of classes; empty for other shapes.
inline std::string timm_preset_of(const SafetensorsFile& file) {
  struct Published {
    const char* name;
    const char* mixer;  // of the tokens, in each block; its last axis is the patches
    Index depth, channels, patch, hidden;
  };
  constexpr const char *gate = "mlp_channels.gate.proj", *mlp = "mlp_tokens.fc1", *linear = "linear_tokens";
  // gMixers have the names of MLP-Mixers; the channels' hidden numbers tell them apart.
  constexpr auto published = std::to_array<Published>({{"gmlp_ti16_224", gate, 30, 128, 16, 6 * 128},
                                                       {"gmlp_s16_224", gate, 30, 256, 16, 6 * 256},
                                                       {"gmlp_b16_224", gate, 30, 512, 16, 6 * 512},
                                                       {"mixer_s32_224", mlp, 8, 512, 32, 4 * 512},
                                                       {"mixer_s16_224", mlp, 8, 512, 16, 4 * 512},
                                                       {"mixer_b32_224", mlp, 12, 768, 32, 4 * 768},
                                                       {"mixer_b16_224", mlp, 12, 768, 16, 4 * 768},
                                                       {"mixer_l32_224", mlp, 24, 1024, 32, 4 * 1024},
                                                       {"mixer_l16_224", mlp, 24, 1024, 16, 4 * 1024},
                                                       {"gmixer_12_224", mlp, 12, 384, 16, 4 * 384},
                                                       {"gmixer_24_224", mlp, 24, 384, 16, 4 * 384},
                                                       {"resmlp_12_224", linear, 12, 384, 16, 4 * 384},
                                                       {"resmlp_24_224", linear, 24, 384, 16, 4 * 384},
                                                       {"resmlp_36_224", linear, 36, 384, 16, 4 * 384},
                                                       {"resmlp_big_24_224", linear, 24, 768, 8, 4 * 768}});
  const auto has = [&](const std::string& ending, const std::vector<Index>& shape) {
    const TensorEntry* const tensor = detail::tensor_ending(file, ending);
    return tensor != nullptr && tensor->shape == shape;
  };
  for (const Published& one : published) {
    const TensorEntry* const mixer = detail::tensor_ending(file, text("blocks.0.", one.mixer, ".weight"));
    const Index side = 224 / one.patch;
    if (mixer != nullptr && mixer->shape.size() == 2 && mixer->shape[1] == side * side &&
        has("stem.proj.weight", {one.channels, 3, one.patch, one.patch}) &&
        has("blocks.0.mlp_channels.fc1.weight", {one.hidden, one.channels}) &&
        detail::count_blocks(file, "blocks.", ".mlp_channels.fc1.weight") == one.depth) {
      const TensorEntry* const head = detail::tensor_ending(file, "head.bias");
      const Index classes = head == nullptr ? 0 : static_cast<Index>(head->count());
      return classes == 1000 ? text(one.name, "()") : text(one.name, "(", classes, ")");
    }
  }
  return {};
}

}  // namespace gated
