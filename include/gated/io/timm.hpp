#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "gated/io/config_json.hpp"
#include "gated/io/name_map.hpp"
#include "gated/models/presets.hpp"

/// @file
/// Checkpoints and configurations of timm's gMLP models (MlpMixer with SpatialGatingBlock).

namespace gated {

/// The names of GmlpImageClassifier's parameters in a timm checkpoint.
inline NameMap timm_names() {
  return {.origin = "timm",
          .rules = {{"patch_embedding", "stem.proj"},
                    {"stem_norm", "stem.norm"},
                    {"trunk.blocks.*.norm", "blocks.*.norm"},
                    {"trunk.blocks.*.proj_in", "blocks.*.mlp_channels.fc1"},
                    {"trunk.blocks.*.gate.norm", "blocks.*.mlp_channels.gate.norm"},
                    {"trunk.blocks.*.gate.proj", "blocks.*.mlp_channels.gate.proj", ShapeForm::drop_leading_one},
                    {"trunk.blocks.*.proj_out", "blocks.*.mlp_channels.fc2"}}};
}

namespace detail {

/// 16 or [16, 16], in the order height, width.
inline ImageSize image_size_from(const Json& value, const std::string& key, const std::string& where) {
  if (value.is_number_integer()) {
    return {value.get<Index>(), value.get<Index>()};
  }
  const bool pair = value.is_array() && value.size() == 2 && value[0].is_number_integer() && value[1].is_number_integer();
  require<ArgumentError>(pair, where, ": ", key, " = ", shown_json(value), ", expected an integer or [height, width].");
  return {value[0].get<Index>(), value[1].get<Index>()};
}

template <class T>
T timm_value(const Json& value, const std::string& key, const std::string& where) {
  bool fits = value.is_number();
  if constexpr (std::is_same_v<T, bool>) {
    fits = value.is_boolean();
  } else if constexpr (std::is_same_v<T, Index>) {
    fits = value.is_number_integer();
  } else if constexpr (std::is_same_v<T, std::string>) {
    fits = value.is_string();
  }
  require<ArgumentError>(fits, where, ": ", key, " = ", shown_json(value), " has the wrong type.");
  return value.get<T>();
}

/// The one number of `[0.5, 0.5, 0.5]`, timm's way to write what pixels are scaled by, channel by channel.
inline double timm_channel_value(const Json& value, const std::string& key, const std::string& where) {
  const bool alike = value.is_array() && !value.empty() && value.front().is_number() &&
                     std::all_of(value.begin(), value.end(), [&](const Json& other) { return other == value.front(); });
  require<ArgumentError>(alike, where, ": ", key, " = ", shown_json(value),
                         ", expected the same number for each channel, which is what pixel_mean and pixel_deviation hold.");
  return value.front().get<double>();
}

/// What timm's `pretrained_cfg` says of the images that a model was trained with.
inline void read_timm_images(const Json& described, const std::string& where, GmlpImageClassifierConfig& config) {
  require<ArgumentError>(described.is_object(), where, ": pretrained_cfg = ", shown_json(described), ", expected an object.");
  for (const auto& [key, value] : described.items()) {
    if (key == "input_size") {
      require<ArgumentError>(value.is_array() && value.size() == 3 && value[0].is_number_integer(), where, ": ", key, " = ",
                             shown_json(value), ", expected [channels, height, width].");
      config.image_channels = value[0].get<Index>();
      config.image = image_size_from(Json::array({value[1], value[2]}), key, where);
    } else if (key == "mean") {
      config.pixel_mean = timm_channel_value(value, key, where);
    } else if (key == "std") {
      config.pixel_deviation = timm_channel_value(value, key, where);
    }  // the rest concerns the file, and how images are cropped
  }
}

}  // namespace detail

/// The configuration that timm's constructor arguments describe, a JSON object such as
/// `{"img_size": 224, "patch_size": 16, "num_blocks": 30, "embed_dim": 256, "mlp_ratio": 6, "num_classes": 1000}`.
///
/// `entry` or `architecture` may name a published model (`"gmlp_s16_224"`), whose arguments the others then override. Missing
/// arguments have timm's defaults. Also understood are the short names image_size, dim, depth, hidden, mean and std, and the
/// `config.json` that timm writes beside a published model, with its pretrained_cfg. Arguments that only concern training are
/// ignored. Errors: ArgumentError for an argument that is unknown or of the wrong type.
inline GmlpImageClassifierConfig timm_config(std::string_view json, const std::string& where = "timm configuration") {
  using detail::Json, detail::timm_value;
  const Json arguments = detail::parse_json<ArgumentError>(json, where, 8);
  require<ArgumentError>(arguments.is_object(), where, ": expected a JSON object.");

  GmlpImageClassifierConfig config = timm_gmlp(512);
  config.trunk.depth = 8;
  double ratio = 4.0;
  Index hidden = 0;
  const auto named = [&](const char* key) {
    const auto found = arguments.find(key);
    return found == arguments.end() || found->is_null() ? std::string() : timm_value<std::string>(*found, key, where);
  };
  std::string entry = named("entry");
  if (const std::string architecture = named("architecture"); entry.empty() && architecture != "timm.gmlp") {
    entry = architecture;  // as timm's own files call it
  }
  if (!entry.empty()) {
    if (entry == "gmlp_ti16_224") {
      config = gmlp_ti16_224();
    } else if (entry == "gmlp_s16_224") {
      config = gmlp_s16_224();
    } else if (entry == "gmlp_b16_224") {
      config = gmlp_b16_224();
    } else {
      raise<ArgumentError>(where, ": entry = ", printable(entry), ", expected gmlp_ti16_224, gmlp_s16_224 or gmlp_b16_224.");
    }
    ratio = 6.0;
  }
  if (const auto described = arguments.find("pretrained_cfg"); described != arguments.end()) {
    detail::read_timm_images(*described, where, config);  // first, so that arguments override it
  }
  for (const auto& [key, value] : arguments.items()) {
    if (key == "img_size" || key == "image_size") {
      config.image = detail::image_size_from(value, key, where);
    } else if (key == "patch_size") {
      config.patch = detail::image_size_from(value, key, where);
    } else if (key == "in_chans") {
      config.image_channels = timm_value<Index>(value, key, where);
    } else if (key == "num_blocks" || key == "depth") {
      config.trunk.depth = timm_value<Index>(value, key, where);
    } else if (key == "embed_dim" || key == "dim") {
      config.trunk.channels = timm_value<Index>(value, key, where);
    } else if (key == "mlp_ratio") {
      ratio = timm_value<double>(value, key, where);
      require<ArgumentError>(ratio > 0 && ratio < 1e4, where, ": mlp_ratio = ", ratio, ", expected a positive number.");
    } else if (key == "hidden") {
      hidden = timm_value<Index>(value, key, where);
    } else if (key == "num_classes") {
      config.classes = timm_value<Index>(value, key, where);
    } else if (key == "stem_norm") {
      config.stem_norm = timm_value<bool>(value, key, where);
    } else if (key == "global_pool") {
      const auto pool = timm_value<std::string>(value, key, where);
      require<ArgumentError>(pool == "avg" || pool.empty(), where, ": global_pool = \"", printable(pool),
                             "\", expected \"avg\" or \"\".");
      config.readout = pool.empty() ? Readout::tokens : Readout::mean;
    } else if (key == "mean") {
      config.pixel_mean = timm_value<double>(value, key, where);
    } else if (key == "std") {
      config.pixel_deviation = timm_value<double>(value, key, where);
    } else {
      const bool known = key == "entry" || key == "architecture" || key == "pretrained_cfg" || key == "num_features" ||
                         key == "nlhb" || key == "drop_rate" || key == "proj_drop_rate" || key == "drop_path_rate";
      require<ArgumentError>(known, where, ": \"", printable(key), "\" is not an argument of timm's gMLP.");
    }
  }
  const double wide = static_cast<double>(config.trunk.channels) * ratio;
  require<ArgumentError>(std::abs(wide) < 1e15, where, ": embed_dim = ", config.trunk.channels, " with mlp_ratio = ", ratio,
                         " is too large.");
  config.trunk.hidden = hidden > 0 ? hidden : static_cast<Index>(wide);
  return config;
}

}  // namespace gated
