#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gated/io/config_fields.hpp"
#include "gated/io/forecaster_names.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/tiny_time_mixer.hpp"

/// @file
/// Published forecasters: IBM's TinyTimeMixers (granite-tsfm) and PatchTSMixer (transformers), with their `config.json`.

namespace gated {

namespace detail {

/// The fields of a forecaster's config.json.
class ForecasterFields : public ConfigFields {
 public:
  using ConfigFields::ConfigFields;

  /// Raises ArgumentError for another model type or class, and for unsupported options.
  void expect_model(const char* model, const char* architecture) const {
    expect("model_type", {model}, text("expected \"", model, "\".").c_str());
    expect_architecture({architecture});
    expect("norm_mlp", {"LayerNorm"}, "expected \"LayerNorm\", the only norm that is supported.");
    expect("self_attn", {false}, "but self-attention is not supported.");
    expect_loss();
  }
  void expect_loss() const {
    expect("loss", {"mse", "mae", "huber", "pinball", nullptr}, "expected \"mse\", \"mae\", \"huber\" or \"pinball\".");
  }
  /// True if the field `key` is "mix_channel".
  bool mixes_series(const char* key) const {
    expect(key, {"common_channel", "mix_channel"}, "expected \"common_channel\" or \"mix_channel\".");
    return get(key, std::string("common_channel")) == "mix_channel";
  }
  SeriesScaling scaling() const {
    const Json* const value = find("scaling");
    if (value == nullptr || is(*value, "std") || is(*value, true)) {
      return SeriesScaling::standard;
    }
    return is(*value, "mean") ? SeriesScaling::mean : SeriesScaling::none;
  }
  PatchPosition position() const {
    if (!get("use_positional_encoding", false)) {
      return PatchPosition::none;
    }
    expect("positional_encoding_type", {"sincos", "random"}, "expected \"sincos\" or \"random\".");
    return get("positional_encoding_type", std::string("sincos")) == "random" ? PatchPosition::learned
                                                                              : PatchPosition::sinusoid;
  }
  /// Raises ArgumentError if num_patches contradicts the context length, patch length and stride.
  void expect_patches(const TinyTimeMixerConfig& config) const {
    const Index stated = get_set("num_patches", config.tokens());
    require<ArgumentError>(stated == config.tokens(), where(), ": num_patches = ", stated,
                           " contradicts context_length = ", config.context, ", patch_length = ", config.patch,
                           " and patch_stride = ", config.stride, ", which give ", config.tokens(),
                           config.resolutions > 0 ? " with the resolution prefix." : ".");
  }

  /// Reads the fields that TinyTimeMixer and PatchTSMixer share.
  TinyTimeMixerConfig common(const TinyTimeMixerConfig& defaults) const {
    TinyTimeMixerConfig c = defaults;
    c.series = get("num_input_channels", c.series);
    c.context = get("context_length", c.context);
    c.patch = get("patch_length", c.patch);
    c.stride = get("patch_stride", c.stride);
    c.horizon = get("prediction_length", c.horizon);
    c.scaling = scaling();
    c.position = position();
    c.backbone = {.channels = get("d_model", c.backbone.channels),
                  .depth = get("num_layers", c.backbone.depth),
                  .mixes_series = mixes_series("mode")};
    c.expansion = get("expansion_factor", c.expansion);
    c.gated = get("gated_attn", c.gated);
    c.norm_eps = get("norm_eps", c.norm_eps);
    c.dropout = get("dropout", c.dropout);
    c.head_dropout = get("head_dropout", c.head_dropout);
    c.predicted = get_set("prediction_channel_indices", c.predicted);
    return c;
  }
};

/// Raises ArgumentError for TinyTimeMixer r3, a different model of the same name.
inline void expect_no_ttm_r3(const ForecasterFields& fields) {
  constexpr const char* why = "which only TinyTimeMixer r3 has. gated does not support this model.";
  for (const char* const key : {"decompose", "multi_scale", "multi_quantile_head", "use_fft_embedding"}) {
    fields.expect(key, {false, nullptr}, why);
  }
  for (const char* const key : {"register_tokens", "fft_length"}) {
    fields.expect(key, {0.0, nullptr}, why);
  }
  fields.expect("gate_mode", {"softmax", nullptr}, why);
  fields.expect("multi_quantile_heads", {false, nullptr}, "but quantile heads are not supported.");
}

}  // namespace detail

/// Converts the `config.json` of a TinyTimeMixerForPrediction (granite-tsfm). Missing fields have the defaults of
/// granite-tsfm; unknown fields are ignored.
/// Errors: ArgumentError, naming the field, for invalid values, contradictions, and unsupported models such as r3.
inline TinyTimeMixerConfig ttm_config(std::string_view json, const std::string& where = "config.json") {
  const detail::ForecasterFields f(json, where);
  detail::expect_no_ttm_r3(f);
  f.expect_model("tinytimemixer", "TinyTimeMixerForPrediction");
  f.expect("categorical_vocab_size_list", {nullptr}, "but categorical inputs are not supported.");
  f.expect("masked_context_length", {nullptr}, "but masked prediction is not supported.");
  TinyTimeMixerConfig c = f.common({});
  c.backbone.levels = std::max<Index>(f.get("adaptive_patching_levels", Index{0}), 0);  // 0 or less: off
  c.resolutions = f.get("resolution_prefix_tuning", false) ? f.get("frequency_token_vocab_size", Index{5}) : 0;
  c.has_decoder = f.get("use_decoder", true);
  c.decoder = {.channels = f.get("decoder_d_model", Index{8}),
               .depth = f.get("decoder_num_layers", Index{8}),
               .levels = std::max<Index>(f.get("decoder_adaptive_patching_levels", Index{0}), 0),
               .mixes_series = f.mixes_series("decoder_mode")};
  c.raw_residual = f.get("decoder_raw_residual", false);
  c.filter = f.get_set("prediction_filter_length", Index{0});
  c.known = f.get_set("exogenous_channel_indices", std::vector<Index>());
  ForecastMixingConfig& m = c.forecast_mixing;
  m.enabled = f.get("enable_forecast_channel_mixing", false);
  if (m.enabled) {  // r2's files set these fields, too, but leave the mixer disabled
    m.context = f.get("fcm_context_length", m.context);
    m.gated = f.get("fcm_gated_attn", true);
    m.depth = f.get("fcm_use_mixer", false) ? f.get("fcm_mix_layers", Index{2}) : 0;
    m.past = f.get("fcm_prepend_past", true);
    m.past_offset = f.get_set("fcm_prepend_past_offset", Index{0});
    require<ArgumentError>(f.find_set("fcm_prepend_past_offset") == nullptr || m.past_offset > 0, where,
                           ": fcm_prepend_past_offset = ", m.past_offset, ", expected null or a positive number.");
  }
  f.expect_patches(c);
  return c;
}

/// Converts the `config.json` of a PatchTSMixerForPrediction (transformers), like ttm_config().
inline TinyTimeMixerConfig patchtsmixer_config(std::string_view json, const std::string& where = "config.json") {
  const detail::ForecasterFields f(json, where);
  f.expect_model("patchtsmixer", "PatchTSMixerForPrediction");
  TinyTimeMixerConfig c =
      f.common({.context = 32, .patch = f.get("patch_len", Index{8}), .backbone = {.channels = 8}, .has_decoder = false});
  c.mixes_single_patch = true;
  f.expect_patches(c);
  return c;
}

/// The training loss of a forecaster, from its `config.json`.
struct ForecasterLoss {
  std::string name = "mse";  ///< "mse", "mae", "huber" or "pinball"
  double quantile = 0.5;     ///< of pinball
  double delta = 1;          ///< of huber
};

/// The training loss in the `config.json` of a TinyTimeMixer or PatchTSMixer.
/// Errors: ArgumentError for an unknown loss.
inline ForecasterLoss forecaster_loss(std::string_view json, const std::string& where = "config.json") {
  const detail::ForecasterFields f(json, where);
  f.expect_loss();
  return {f.get_set("loss", std::string("mse")), f.get("quantile", 0.5), f.get("huber_delta", 1.0)};
}

/// Loads a published forecaster from a folder with `config.json` and `model.safetensors`: a PatchTSMixer if that is the
/// model_type, otherwise a TinyTimeMixer (r1, r2).
///
///     const auto model = load_ttm<float>("granite-timeseries-ttm-r2");
///
/// Errors: those of ttm_config() and load_parameters(); FileError for files that are missing or do not fit each other.
/// Cost: one pass over the file.
template <class T>
TinyTimeMixer<T> load_ttm(const std::filesystem::path& folder) {
  const std::filesystem::path config_path = folder / "config.json";
  const MappedFile text_file(config_path);
  const std::string_view json = text_of(text_file);
  const std::string where = config_path.string();
  const detail::ForecasterFields fields(json, where);
  const bool is_patchtsmixer = fields.get("model_type", std::string("tinytimemixer")) == "patchtsmixer";
  const TinyTimeMixerConfig config = is_patchtsmixer ? patchtsmixer_config(json, where) : ttm_config(json, where);
  const SafetensorsFile file(folder / "model.safetensors");
  TinyTimeMixer<T> model = [&] {
    const ParameterBudget budget = budget_of(file);
    return TinyTimeMixer<T>(config);
  }();
  load_parameters(model, file, is_patchtsmixer ? patchtsmixer_names() : ttm_names(config));
  return model;
}

}  // namespace gated
