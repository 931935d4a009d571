#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "gated/models/presets.hpp"

/// @file
/// timm's configurations of gMLP, MLP-Mixer, gMixer and ResMLP models: constructor arguments and `config.json`.

namespace gated {

/// Converts timm's constructor arguments, a JSON object such as
/// `{"img_size": 224, "patch_size": 16, "num_blocks": 30, "embed_dim": 256, "mlp_ratio": 6, "num_classes": 1000}`.
///
/// `Config` selects the model: GmlpImageClassifierConfig, MixerImageClassifierConfig, GmixerImageClassifierConfig or
/// ResmlpImageClassifierConfig; with_timm_config() detects the model. The argument `entry` or `architecture` may name a
/// published model: `"gmlp_s16_224"` or, with the tag of its weights, `"mixer_b16_224.goog_in21k"`. The other arguments
/// override those of the published model. Missing arguments have timm's defaults. The short names image_size, dim, depth,
/// hidden, mean and std are accepted too, as is timm's `config.json` with its pretrained_cfg and model_args. Arguments for
/// training are ignored, as are labels (labels.hpp).
/// Errors: ArgumentError for an argument that is unknown or of the wrong type.
template <class Config = GmlpImageClassifierConfig>
Config timm_config(std::string_view json, const std::string& where = "timm configuration");

namespace detail {

/// The configuration of a model of timm, one type per family that gated supports.
using TimmConfig = std::variant<GmlpImageClassifierConfig, MixerImageClassifierConfig, GmixerImageClassifierConfig,
                                ResmlpImageClassifierConfig>;

/// timm_config() for the family of the published model that `json` names; gMLP if it names none.
/// Errors: those of timm_config(); ArgumentError for an unknown name.
TimmConfig any_timm_config(std::string_view json, const std::string& where);

}  // namespace detail

/// Converts timm's arguments with timm_config() and calls `f(config)`. The published model named by `entry` or `architecture`
/// determines the type of `config`; without a name, it is GmlpImageClassifierConfig.
///
///     with_timm_config(text_of_config_json, [&](const auto& config) {
///       ImageClassifierFor<std::remove_cvref_t<decltype(config)>, float> model(config);
///       load_parameters(model, SafetensorsFile("model.safetensors"), timm_names_for(config));
///     });
///
/// Errors: those of timm_config(); ArgumentError for an unknown name.
template <class F>
decltype(auto) with_timm_config(std::string_view json, F&& f, const std::string& where = "timm configuration") {
  return std::visit(std::forward<F>(f), detail::any_timm_config(json, where));
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/timm_config.inl"
#endif
