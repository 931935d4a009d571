#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "gated/io/safetensors.hpp"

/// @file
/// Who wrote a checkpoint, told by the names in it.

namespace gated {

/// A writer of checkpoints, and how its files are opened here.
struct Origin {
  const char* writer;                ///< "timm"
  const char* names;                 ///< what to give load_parameters(): "timm_names()"
  const char* header;                ///< where that is: "gated/io/timm.hpp"
  const char* model;                 ///< the model to build: "GmlpImageClassifier"
  std::array<const char*, 2> marks;  ///< how names of tensors end that only such files have
};

/// The known writers, those whose marks say most first.
inline constexpr auto known_origins = std::to_array<Origin>({
    {"timm",
     "timm_names()",
     "gated/io/timm.hpp",
     "GmlpImageClassifier",
     {"blocks.0.mlp_channels.gate.proj.weight", "stem.proj.weight"}},
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
});

namespace detail {

/// The first tensor whose name is `ending`, or ends with it after a dot; nullptr without one.
inline const TensorEntry* tensor_ending(const SafetensorsFile& file, std::string_view ending) {
  for (const auto& [name, entry] : file.tensors()) {
    const std::size_t before = name.size() - std::min(name.size(), ending.size());
    if (name.ends_with(ending) && (before == 0 || name[before - 1] == '.')) {
      return &entry;
    }
  }
  return nullptr;
}

/// The numbers that stand for `*` in names that end with "blocks.*.rest", as far as there is one after the other.
inline Index count_blocks(const SafetensorsFile& file, std::string_view before, std::string_view after) {
  Index count = 0;
  while (tensor_ending(file, text(before, count, after)) != nullptr) {
    ++count;
  }
  return count;
}

}  // namespace detail

/// The writer of `file`, by the names of its tensors, whatever stands before them; nullptr for an unknown one.
inline const Origin* origin_of(const SafetensorsFile& file) {
  const auto found = std::find_if(known_origins.begin(), known_origins.end(), [&](const Origin& origin) {
    return std::all_of(origin.marks.begin(), origin.marks.end(),
                       [&](const char* mark) { return detail::tensor_ending(file, mark) != nullptr; });
  });
  return found == known_origins.end() ? nullptr : &*found;
}

/// The preset of models/presets.hpp that has the shapes of a timm checkpoint, as C++: "gmlp_s16_224()", or
/// "gmlp_s16_224(37)" with another number of classes; empty for other shapes.
inline std::string timm_preset_of(const SafetensorsFile& file) {
  const TensorEntry* const stem = detail::tensor_ending(file, "stem.proj.weight");
  const TensorEntry* const hidden = detail::tensor_ending(file, "blocks.0.mlp_channels.fc1.weight");
  const TensorEntry* const gate = detail::tensor_ending(file, "blocks.0.mlp_channels.gate.proj.weight");
  if (stem == nullptr || hidden == nullptr || gate == nullptr || hidden->shape.empty() ||
      gate->shape != std::vector<Index>{196, 196} || detail::count_blocks(file, "blocks.", ".norm.weight") != 30) {
    return {};
  }
  for (const auto& [name, channels] : {std::pair("gmlp_ti16_224", Index{128}), {"gmlp_s16_224", 256}, {"gmlp_b16_224", 512}}) {
    if (stem->shape == std::vector<Index>{channels, 3, 16, 16} && hidden->shape[0] == 6 * channels) {
      const TensorEntry* const head = detail::tensor_ending(file, "head.bias");
      const Index classes = head == nullptr ? 0 : static_cast<Index>(head->count());
      return classes == 1000 ? text(name, "()") : text(name, "(", classes, ")");
    }
  }
  return {};
}

}  // namespace gated
