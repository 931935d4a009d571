#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/models/tiny_time_mixer_config.hpp"

/// @file
/// Name maps for forecaster checkpoints: TinyTimeMixer's from granite-tsfm, and PatchTSMixer's from Hugging Face's
/// transformers.

namespace gated {

/// The numbering of a forecaster's blocks in a checkpoint's tensor names.
struct ForecasterLayout {
  bool backbone_levels = false;  ///< backbone blocks are numbered by level and block, not only by block
  bool decoder_levels = false;   ///< decoder blocks are numbered by level and block
};

/// The layout of checkpoints of a model with this configuration.
inline ForecasterLayout forecaster_layout(const TinyTimeMixerConfig& c) {
  return {c.backbone.levels > 0, c.decoder.levels > 0};
}

/// The layout of a file whose tensor names begin with `prefix` (NameMap::prefix).
inline ForecasterLayout forecaster_layout(const SafetensorsFile& file, std::string_view prefix = "") {
  const auto has = [&](const char* trunk) {
    return file.contains(text(prefix, trunk, ".mixers.0.mixer_layers.0.feature_mixer.mlp.fc1.weight"));
  };
  return {has("backbone.encoder.mlp_mixer_encoder"), has("decoder.decoder_block")};
}

namespace detail {

/// Adds the rules for the blocks at `ours`, called `theirs` in the file.
inline void add_series_blocks(NameMap& names, const std::string& ours, const std::string& theirs) {
  for (const auto& [own, their, form] : {std::tuple("series", "channel_feature_mixer", ShapeForm::drop_leading_one),
                                         std::tuple("patches", "patch_mixer", ShapeForm::drop_leading_one),
                                         std::tuple("features", "feature_mixer", ShapeForm::same)}) {
    const std::string mixer = own == std::string("series") ? "mixer.tokens." : "mixer.";
    names.add(ours + own + ".", theirs + their,
              {{"norm", ".norm.norm"},
               {mixer + "mlp.proj_in", ".mlp.fc1", form},
               {mixer + "mlp.proj_out", ".mlp.fc2", form},
               {mixer + "gate", ".gating_block.attn_layer", form}});
  }
}

inline void add_series_trunk(NameMap& names, bool has_levels, const std::string& ours, const std::string& theirs) {
  if (has_levels) {
    add_series_blocks(names, ours + "trunk.levels.*.blocks.*.", theirs + "mixers.*.mixer_layers.*.");
  } else {
    add_series_blocks(names, ours + "trunk.levels.0.blocks.*.", theirs + "mixers.*.");
  }
}

inline NameMap forecaster_names(const char* origin, const std::string& encoder, const ForecasterLayout& layout) {
  NameMap names{.origin = origin};
  names.add("backbone.", encoder,
            {{"patch_embedding", "patcher"},
             {"position.weight", "positional_encoder.position_enc"},
             {"position_table.weight", "positional_encoder.position_enc"},
             {"prefix.embedding", "freq_mod.0"},
             {"prefix.proj_in", "freq_mod.1"},
             {"prefix.proj_out", "freq_mod.3"}});
  names.add("", "",
            {{"decoder.adapter", "decoder.adapter"},
             {"decoder.raw", "decoder.decoder_raw_embedding"},
             {"head", "head.base_forecast_block"},
             {"forecast_mixer.embedding", "head.fcm_block.fcm_embedding"},
             {"forecast_mixer.gate", "head.fcm_block.fcm_gating_block.attn_layer"},
             {"forecast_mixer.proj", "head.fcm_block.mlp"}});
  add_series_trunk(names, layout.backbone_levels, "backbone.", encoder + "mlp_mixer_encoder.");
  add_series_trunk(names, layout.decoder_levels, "decoder.", "decoder.decoder_block.");
  add_series_blocks(names, "forecast_mixer.mixer.blocks.*.", "head.fcm_block.exog_mixer.mixers.*.");
  return names;
}

}  // namespace detail

/// The names of TinyTimeMixer's parameters in a granite-tsfm checkpoint.
inline NameMap ttm_names(const ForecasterLayout& layout) {
  return detail::forecaster_names("granite-tsfm", "backbone.encoder.", layout);
}
/// The names for a model with this configuration.
inline NameMap ttm_names(const TinyTimeMixerConfig& config) { return ttm_names(forecaster_layout(config)); }

/// The names of PatchTSMixer's parameters in a transformers checkpoint.
inline NameMap patchtsmixer_names() { return detail::forecaster_names("transformers", "model.encoder.", {}); }

}  // namespace gated
