#pragma once

#include <string>
#include <string_view>

#include "gated/models/presets.hpp"

/// @file
/// timm's configurations of gMLP, MLP-Mixer, gMixer and ResMLP models: constructor arguments and `config.json`.

namespace gated {

/// The configuration that timm's constructor arguments describe, a JSON object such as
/// `{"img_size": 224, "patch_size": 16, "num_blocks": 30, "embed_dim": 256, "mlp_ratio": 6, "num_classes": 1000}`.
///
/// `Config` says which of timm's models they are of: GmlpImageClassifierConfig, MixerImageClassifierConfig,
/// GmixerImageClassifierConfig or ResmlpImageClassifierConfig; with_timm_config() finds that out. `entry` or `architecture` may
/// name a published model (`"gmlp_s16_224"`, or with its weights `"mixer_b16_224.goog_in21k"`), whose arguments the others then
/// override. Missing arguments have timm's defaults. Also understood are the short names image_size, dim, depth, hidden, mean
/// and std, and the `config.json` that timm writes beside a model, with its pretrained_cfg and model_args. Arguments that only
/// concern training are ignored, and so are labels: see labels.hpp.
/// Errors: ArgumentError for an argument that is unknown or of the wrong type.
template <class Config = GmlpImageClassifierConfig>
Config timm_config(std::string_view json, const std::string& where = "timm configuration");

namespace detail {

/// The kinds of models that timm's arguments may be of.
enum class TimmKind { gmlp, mixer, gmixer, resmlp };

/// The kind whose published model the arguments name; gmlp if they name none.
/// Errors: ArgumentError for a name that none has.
TimmKind timm_kind(std::string_view json, const std::string& where);

}  // namespace detail

/// Calls `f(config)` with the configuration that timm's arguments describe, of the kind that their `entry` or `architecture` is
/// of: one of the four that timm_config() knows. Without such a name it is a gMLP's.
///
///     with_timm_config(text_of_config_json, [&](const auto& config) {
///       ImageClassifierFor<std::remove_cvref_t<decltype(config)>, float> model(config);
///       load_parameters(model, SafetensorsFile("model.safetensors"), timm_names_for(config));
///     });
///
/// Errors: as timm_config(), and ArgumentError for a name that none has.
template <class F>
decltype(auto) with_timm_config(std::string_view json, F&& f, const std::string& where = "timm configuration") {
  switch (detail::timm_kind(json, where)) {
    case detail::TimmKind::mixer:
      return f(timm_config<MixerImageClassifierConfig>(json, where));
    case detail::TimmKind::gmixer:
      return f(timm_config<GmixerImageClassifierConfig>(json, where));
    case detail::TimmKind::resmlp:
      return f(timm_config<ResmlpImageClassifierConfig>(json, where));
    case detail::TimmKind::gmlp:
      break;
  }
  return f(timm_config<GmlpImageClassifierConfig>(json, where));
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/timm_config.inl"
#endif
