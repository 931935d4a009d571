#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/io/bs_roformer.hpp"
#include "gated/io/clear_voice.hpp"
#include "gated/io/espnet.hpp"
#include "gated/io/fairseq.hpp"
#include "gated/io/forecaster_names.hpp"
#include "gated/io/hugging_face.hpp"
#include "gated/io/junnyu.hpp"
#include "gated/io/labml.hpp"
#include "gated/io/lucidrains.hpp"
#include "gated/io/lucidrains_flash.hpp"
#include "gated/io/mmpose.hpp"
#include "gated/io/origin.hpp"
#include "gated/io/text_names.hpp"
#include "gated/io/timm.hpp"
#include "gated/io/timm_models.hpp"
#include "gated/models/pose_head.hpp"

namespace gated {

namespace detail {

/// The name and the tensor that tensor_ending() finds.
inline std::pair<std::string_view, const TensorEntry*> named_ending(const SafetensorsFile& file, std::string_view ending) {
  for (const auto& [name, entry] : file.tensors()) {
    const std::size_t before = name.size() - std::min(name.size(), ending.size());
    if (name.ends_with(ending) && (before == 0 || name[before - 1] == '.')) {
      return {name, &entry};
    }
  }
  return {"", nullptr};
}

/// True if the token MLP of an image model has no gate: fc2 reads as many channels as fc1 writes. In a gMixer, fc2 reads half
/// as many.
inline bool has_plain_token_mlp(const SafetensorsFile& file) {
  const TensorEntry* const in = tensor_ending(file, "blocks.0.mlp_tokens.fc1.weight");
  const TensorEntry* const out = tensor_ending(file, "blocks.0.mlp_tokens.fc2.weight");
  return in != nullptr && out != nullptr && in->shape.size() == 2 && out->shape.size() == 2 && in->shape[0] == out->shape[1];
}

/// True for TinyTimeMixer r1 and r2; r3 is another model, which contains a TinyTimeMixer.
inline bool is_plain_forecaster(const SafetensorsFile& file) {
  return std::none_of(file.tensors().begin(), file.tensors().end(),
                      [](const auto& named) { return named.first.find("residual_forecaster.") != std::string::npos; });
}

/// The name map that loads the MossFormer2 mask network in `file` for its first speaker only.
inline NameMap mossformer2_se_names_in(const SafetensorsFile& file, std::string_view) {
  const TensorEntry* const parts = tensor_ending(file, "conv1d_out.bias");
  const TensorEntry* const own = tensor_ending(file, "output.0.bias");
  return mossformer2_se_names(
      parts == nullptr || own == nullptr || own->count() == 0 ? 0 : static_cast<Index>(parts->count() / own->count()) - 1);
}

/// True for a KW-MLP, which has the tensor names of an early gMLPVision. Only a gMLPVision has square patches of three channels
/// on a square grid.
inline bool is_keyword_mlp(const SafetensorsFile& file) {
  const TensorEntry* const patches = tensor_ending(file, "to_patch_embed.1.weight");
  const TensorEntry* const spatial = tensor_ending(file, "layers.0.fn.fn.sgu.proj.weight");
  const auto is_square = [](Index area) {
    const double side = std::round(std::sqrt(static_cast<double>(area)));
    return side * side == static_cast<double>(area);
  };
  return patches != nullptr && spatial != nullptr && patches->shape.size() == 2 && spatial->shape.size() == 3 &&
         !(patches->shape[1] % 3 == 0 && is_square(patches->shape[1] / 3) && is_square(spatial->shape[0]));
}

/// True for WeNet's files. ESPnet's files have the same names, but no position table, and store feature statistics elsewhere.
inline bool is_of_wenet(const SafetensorsFile& file) {
  return tensor_ending(file, "embed.pos_enc.pe") != nullptr || tensor_ending(file, "global_cmvn.istd") != nullptr;
}

/// True for a file with layers of a LightConv model, unless a layer attends to an encoder.
inline bool is_light_conv(const SafetensorsFile& file) {
  const bool attends = std::any_of(file.tensors().begin(), file.tensors().end(),
                                   [](const auto& named) { return named.first.find("encoder_attn.") != std::string::npos; });
  return !attends &&
         (tensor_ending(file, "conv.weight") != nullptr || tensor_ending(file, "conv.weight_linear.weight") != nullptr);
}

template <NameMap (*names)()>
NameMap made_by(const SafetensorsFile&, std::string_view) {
  return names();
}
template <NameMap (*names)(const LucidrainsLayout&)>
NameMap made_by(const SafetensorsFile& file, std::string_view prefix) {
  return names(lucidrains_layout(file, prefix));
}
template <NameMap (*names)(const ForecasterLayout&)>
NameMap made_by(const SafetensorsFile& file, std::string_view prefix) {
  return names(forecaster_layout(file, prefix));
}
template <NameMap (*names)(const LlamaLayout&)>
NameMap made_by(const SafetensorsFile& file, std::string_view prefix) {
  return names(llama_layout(file, prefix));
}
template <NameMap (*names)(const FairseqLayout&)>
NameMap made_by(const SafetensorsFile& file, std::string_view prefix) {
  return names(fairseq_layout(file, prefix));
}

/// True if the tensor that tensor_ending() finds has this shape.
inline bool has_tensor(const SafetensorsFile& file, std::string_view ending, const std::vector<Index>& shape) {
  const TensorEntry* const tensor = tensor_ending(file, ending);
  return tensor != nullptr && tensor->shape == shape;
}

/// preset_of() for one kind of timm model.
template <class Config>
std::string timm_preset(const SafetensorsFile& file) {
  using Models = TimmModels<Config>;
  const TensorEntry* const head = tensor_ending(file, "head.bias");
  const TensorEntry* const tokens = tensor_ending(file, text("blocks.0.", Models::over_tokens, ".weight"));
  const Index depth = count_blocks(file, "blocks.", ".mlp_channels.fc1.weight");
  const Index classes = head == nullptr ? 0 : static_cast<Index>(head->count());
  for (const auto& [name, preset] : Models::presets) {
    Config config = preset(classes);
    const Index channels = Models::channels(config);
    if (tokens != nullptr && tokens->shape.size() == 2 && tokens->shape[1] == config.tokens() &&
        has_tensor(file, "stem.proj.weight", {channels, config.image_channels, config.patch.height, config.patch.width}) &&
        has_tensor(file, "blocks.0.mlp_channels.fc1.weight", {Models::hidden(config), channels}) &&
        config.trunk.depth == depth) {
      return classes == Config{}.classes ? text(name, "()") : text(name, "(", classes, ")");
    }
  }
  return {};
}

/// preset_of() for KW-MLP.
inline std::string kw_mlp_preset(const SafetensorsFile& file) {
  const TensorEntry* const head = tensor_ending(file, "to_logits.2.bias");
  const Index classes = head == nullptr ? 0 : static_cast<Index>(head->count());
  const GmlpImageClassifierConfig config = kw_mlp(classes);
  const Index channels = config.trunk.channels, tokens = config.tokens();
  if (!has_tensor(file, "to_patch_embed.1.weight", {channels, config.patch.area()}) ||
      !has_tensor(file, "layers.0.fn.fn.proj_in.0.weight", {config.trunk.hidden, channels}) ||
      !has_tensor(file, "layers.0.fn.fn.sgu.proj.weight", {tokens, tokens, 1}) ||
      count_blocks(file, "layers.", ".fn.norm.weight") != config.trunk.depth) {
    return {};
  }
  return classes == kw_mlp().classes ? text("kw_mlp()") : text("kw_mlp(", classes, ")");
}

/// preset_of() for RTMPose's heads.
inline std::string rtmpose_preset(const SafetensorsFile& file) {
  const TensorEntry* const kernel = tensor_ending(file, "final_layer.weight");
  const TensorEntry* const across = tensor_ending(file, "cls_x.weight");
  const TensorEntry* const down = tensor_ending(file, "cls_y.weight");
  if (kernel == nullptr || kernel->shape.size() != 4 || across == nullptr || across->shape.size() != 2 || down == nullptr ||
      down->shape.size() != 2) {
    return {};
  }
  const std::pair<const char*, PoseHeadConfig (*)(Index, ImageSize)> presets[] = {{"rtmpose_t_head", rtmpose_t_head},
                                                                                  {"rtmpose_s_head", rtmpose_s_head},
                                                                                  {"rtmpose_m_head", rtmpose_m_head},
                                                                                  {"rtmpose_l_head", rtmpose_l_head},
                                                                                  {"rtmpose_x_head", rtmpose_x_head}};
  const ImageSize input{down->shape[0] / 2, across->shape[0] / 2};
  for (const auto& [name, preset] : presets) {
    const PoseHeadConfig c = preset(kernel->shape[0], input);
    if (kernel->shape == std::vector<Index>{c.key_points, c.feature_channels, c.kernel, c.kernel} &&
        has_tensor(file, "mlp.1.weight", {c.unit.channels, c.features.area()}) &&
        has_tensor(file, "gau.o.weight", {c.unit.channels, c.unit.value}) &&
        has_tensor(file, "gau.gamma", {2, c.unit.query_key}) && tensor_ending(file, "gau.w") == nullptr) {
      return text(name, "(", c.key_points, ", {", input.height, ", ", input.width, "})");
    }
  }
  return {};
}

inline constexpr auto origins = std::to_array<Origin>({
    {"timm",
     "gated/io/timm.hpp",
     "timm_names",
     "GmlpImageClassifier",
     {"blocks.0.mlp_channels.gate.proj.weight", "stem.proj.weight"},
     made_by<timm_names>,
     "",
     nullptr,
     timm_preset<GmlpImageClassifierConfig>},
    {"timm",
     "gated/io/timm.hpp",
     "timm_mixer_names",
     "MixerImageClassifier",
     {"blocks.0.mlp_tokens.fc1.weight", "stem.proj.weight"},
     made_by<timm_mixer_names>,
     "",
     has_plain_token_mlp,
     timm_preset<MixerImageClassifierConfig>},
    {"timm",
     "gated/io/timm.hpp",
     "timm_gmixer_names",
     "GmixerImageClassifier",
     {"blocks.0.mlp_tokens.fc1.weight", "stem.proj.weight"},
     made_by<timm_gmixer_names>,
     "",
     nullptr,
     timm_preset<GmixerImageClassifierConfig>},
    {"timm",
     "gated/io/timm.hpp",
     "timm_resmlp_names",
     "ResmlpImageClassifier",
     {"blocks.0.linear_tokens.weight", "stem.proj.weight"},
     made_by<timm_resmlp_names>,
     "",
     nullptr,
     timm_preset<ResmlpImageClassifierConfig>},
    {"Facebook",
     "gated/io/timm.hpp",
     "facebook_resmlp_names",
     "ResmlpImageClassifier",
     {"blocks.0.attn.weight", "blocks.0.gamma_1"},
     made_by<facebook_resmlp_names>},
    {"Keyword-MLP",
     "gated/io/lucidrains.hpp",
     "kw_mlp_names",
     "GmlpImageClassifier",
     {"to_patch_embed.1.weight", "proj_in.0.weight"},
     made_by<kw_mlp_names>,
     "",
     is_keyword_mlp,
     kw_mlp_preset},
    {"g-mlp-pytorch",
     "gated/io/lucidrains.hpp",
     "lucidrains_vision_names",
     "GmlpImageClassifier",
     {"to_patch_embed.1.weight", "proj_in.0.weight"},
     made_by<lucidrains_vision_names>,
     "lucidrains_layout"},
    {"g-mlp-pytorch",
     "gated/io/lucidrains.hpp",
     "lucidrains_language_model_names",
     "GmlpLanguageModel",
     {"to_embed.weight", "proj_in.0.weight"},
     made_by<lucidrains_language_model_names>,
     "lucidrains_layout"},
    {"g-mlp-pytorch",
     "gated/io/lucidrains.hpp",
     "lucidrains_trunk_names",
     "Gmlp",
     {"layers.0.fn.norm.weight", "proj_in.0.weight"},
     made_by<lucidrains_trunk_names>,
     "lucidrains_layout"},
    {"FLASH-pytorch",
     "gated/io/lucidrains_flash.hpp",
     "lucidrains_flash_transformer_names",
     "FlashLanguageModel",
     {"token_emb.weight", "qk_offset_scale.gamma"},
     made_by<lucidrains_flash_transformer_names>},
    {"FLASH-pytorch",
     "gated/io/lucidrains_flash.hpp",
     "lucidrains_flash_names",
     "MixedChunkAttention",
     {"qk_offset_scale.gamma", "to_hidden.0.weight"},
     made_by<lucidrains_flash_names>},
    {"FLASH-pytorch",
     "gated/io/lucidrains_flash.hpp",
     "lucidrains_gau_names",
     "GatedAttentionUnit",
     {"offsetscale.gamma", "to_hidden.0.weight"},
     made_by<lucidrains_gau_names>},
    {"FLASHQuad_pytorch",
     "gated/io/junnyu.hpp",
     "flash_quad_names",
     "GauEncoder",
     {"embeddings.scaledsin_scalar", "uv.weight"},
     made_by<flash_quad_names>},
    {"FLASHQuad_pytorch",
     "gated/io/junnyu.hpp",
     "junnyu_flash_names",
     "FlashLanguageModel",
     {"embeddings.scale", "qk_offset_scale.weight"},
     made_by<junnyu_flash_names>},
    {"GAU-alpha-pytorch",
     "gated/io/junnyu.hpp",
     "gau_alpha_names",
     "GauEncoder",
     {"embeddings.word_embeddings.weight", "q_scaleoffset.weight"},
     made_by<gau_alpha_names>},
    {"mmpose",
     "gated/io/mmpose.hpp",
     "rtmcc_head_names",
     "PoseHead",
     {"final_layer.weight", "cls_x.weight"},
     made_by<rtmcc_head_names>,
     "",
     nullptr,
     rtmpose_preset},
    {"mmpose",
     "gated/io/mmpose.hpp",
     "rtmcc_cross_names",
     "GatedCrossAttention",
     {"k_fc.weight", "uv.weight"},
     made_by<rtmcc_cross_names>},
    {"mmpose", "gated/io/mmpose.hpp", "rtmcc_names", "GatedAttentionUnit", {"ln.g", "uv.weight"}, made_by<rtmcc_names>},
    {"labml",
     "gated/io/labml.hpp",
     "labml_block_names",
     "GmlpBlock",
     {"proj1.weight", "sgu.weight"},
     made_by<labml_block_names>},
    {"fairseq",
     "gated/io/fairseq.hpp",
     "fairseq_block_names",
     "LightConvBlock",
     {"linear1.weight", "fc1.weight"},
     made_by<fairseq_block_names>,
     "fairseq_layout",
     is_light_conv},
    {"granite-tsfm",
     "gated/io/forecaster_names.hpp",
     "ttm_names",
     "TinyTimeMixer",
     {"backbone.encoder.patcher.weight", "head.base_forecast_block.weight"},
     made_by<ttm_names>,
     "forecaster_layout",
     is_plain_forecaster},
    {"transformers",
     "gated/io/forecaster_names.hpp",
     "patchtsmixer_names",
     "TinyTimeMixer",
     {"model.encoder.patcher.weight", "head.base_forecast_block.weight"},
     made_by<patchtsmixer_names>},
    {"transformers",
     "gated/io/hugging_face.hpp",
     "fnet_names",
     "Fnet",
     {"embeddings.projection.weight", "fourier.output.LayerNorm.weight"},
     made_by<fnet_names>},
    {"transformers",
     "gated/io/hugging_face.hpp",
     "fnet_encoder_names",
     "FnetEncoder",
     {"layer.0.fourier.output.LayerNorm.weight", "layer.0.intermediate.dense.weight"},
     made_by<fnet_encoder_names>},
    {"transformers",
     "gated/io/text_names.hpp",
     "llama_names",
     "TextTransformer",
     {"embed_tokens.weight", "self_attn.q_proj.weight"},
     made_by<llama_names>,
     "llama_layout"},
    {"transformers",
     "gated/io/text_names.hpp",
     "modernbert_names",
     "TextTransformer",
     {"embeddings.tok_embeddings.weight", "attn.Wqkv.weight"},
     made_by<modernbert_names>},
    {"BS-RoFormer",
     "gated/io/bs_roformer.hpp",
     "bs_roformer_names",
     "Roformer",
     {"layers.0.0.to_gates.weight", "layers.0.1.net.0.gamma"},
     made_by<bs_roformer_names>},
    {"ClearerVoice-Studio",
     "gated/io/clear_voice.hpp",
     "mossformer2_se_names",
     "MaskNetwork",
     {"mossformer.conv1d_encoder.weight", "mossformer.conv1d_out.weight"},
     mossformer2_se_names_in},
    {"ClearerVoice-Studio",
     "gated/io/clear_voice.hpp",
     "mossformer2_ss_names",
     "SpeechSeparator",
     {"enc.conv1d.weight", "mask_net.conv1d_out.weight"},
     made_by<mossformer2_ss_names>},
    {"WeNet",
     "gated/io/espnet.hpp",
     "wenet_names",
     "Branchformer",
     {"encoders.0.depthwise_conv_fusion.weight", "encoders.0.cgmlp.csgu.conv.weight"},
     made_by<wenet_names>,
     "",
     is_of_wenet},
    {"ESPnet",
     "gated/io/espnet.hpp",
     "espnet_names",
     "Branchformer",
     {"encoders.0.depthwise_conv_fusion.weight", "encoders.0.cgmlp.csgu.conv.weight"},
     made_by<espnet_names>},
});

}  // namespace detail

GATED_INLINE const TensorEntry* tensor_ending(const SafetensorsFile& file, std::string_view ending) {
  return detail::named_ending(file, ending).second;
}

GATED_INLINE Index count_blocks(const SafetensorsFile& file, std::string_view before, std::string_view after) {
  std::vector<Index> found;
  for (const auto& [name, entry] : file.tensors()) {
    const std::string_view whole = std::string_view(name).substr(0, name.ends_with(after) ? name.size() - after.size() : 0);
    const std::string_view start = whole.substr(0, whole.find_last_not_of("0123456789") + 1);
    Index i = 0;
    const bool has_number = std::from_chars(whole.data() + start.size(), whole.data() + whole.size(), i).ec == std::errc();
    if (has_number && text(".", start).ends_with(text(".", before))) {
      found.push_back(i);
    }
  }
  std::sort(found.begin(), found.end());
  Index count = 0;
  for (const Index i : found) {
    count += i == count ? 1 : 0;
  }
  return count;
}

GATED_INLINE std::span<const Origin> known_origins() { return detail::origins; }

GATED_INLINE const Origin* origin_of(const SafetensorsFile& file) {
  const auto found = std::find_if(detail::origins.begin(), detail::origins.end(), [&](const Origin& origin) {
    return std::all_of(origin.marks.begin(), origin.marks.end(),
                       [&](const char* mark) { return tensor_ending(file, mark) != nullptr; }) &&
           (origin.fits == nullptr || origin.fits(file));
  });
  return found == detail::origins.end() ? nullptr : &*found;
}

GATED_INLINE NameMap names_of(const SafetensorsFile& file, const Origin& origin) {
  const std::string_view first = detail::named_ending(file, origin.marks[0]).first;
  const std::string_view before = first.substr(0, first.size() - std::string_view(origin.marks[0]).size());
  NameMap names = origin.map(file, before);
  // `before` may end with the map's `body`, which must not be part of `prefix` too.
  const bool in_body = !names.body.empty() && before.ends_with(names.body);
  names.prefix = before.substr(0, before.size() - (in_body ? names.body.size() : 0));
  return names;
}

GATED_INLINE std::string names_call(const Origin& origin, std::string_view prefix) {
  const bool has_layout = *origin.layout != '\0';
  const std::string where = prefix.empty() ? "" : text(", \"", prefix, "\"");
  return text(origin.names, "(", has_layout ? text(origin.layout, "(file", where, ")") : "", ")");
}

GATED_INLINE std::string preset_of(const SafetensorsFile& file) {
  const Origin* const origin = origin_of(file);
  return origin == nullptr || origin->preset == nullptr ? std::string() : origin->preset(file);
}

}  // namespace gated
