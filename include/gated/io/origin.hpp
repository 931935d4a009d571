#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gated/io/safetensors.hpp"

/// @file
/// Who wrote a checkpoint, told by the names in it.

namespace gated {

/// The first tensor whose name is `ending`, or ends with it after a dot; nullptr without one.
const TensorEntry* tensor_ending(const SafetensorsFile& file, std::string_view ending);
/// How many tensors there are whose names end with `before`, i and `after`, for i = 0, 1, … without a gap.
Index count_blocks(const SafetensorsFile& file, std::string_view before, std::string_view after);

namespace detail {

/// As tensor_ending(), with the whole name.
std::pair<std::string_view, const TensorEntry*> named_ending(const SafetensorsFile& file, std::string_view ending);
/// Whether the token MLP of an image model returns from as many numbers as it goes to, or from half of them, which is a gMixer.
bool has_plain_token_mlp(const SafetensorsFile& file);
/// Whether a forecaster is a TinyTimeMixer of the releases r1 and r2; r3 is another model, in which such a one is a part.
bool is_plain_forecaster(const SafetensorsFile& file);

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
const Origin* origin_of(const SafetensorsFile& file);

/// The preset of models/presets.hpp that has the shapes of a timm checkpoint, as C++: "gmlp_s16_224()", or
/// "gmlp_s16_224(37)" with another number of classes; empty for other shapes.
std::string timm_preset_of(const SafetensorsFile& file);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/origin.inl"
#endif
