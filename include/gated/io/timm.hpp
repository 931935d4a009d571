#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

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

/// Reads what a file says of the images that a model was trained with. Returns false for a key that says nothing of them.
inline bool read_timm_images(const Json& value, const std::string& key, const std::string& where,
                             GmlpImageClassifierConfig& config) {
  if (key == "input_size") {
    require<ArgumentError>(value.is_array() && value.size() == 3 && value[0].is_number_integer(), where, ": ", key, " = ",
                           shown_json(value), ", expected [channels, height, width].");
    config.image_channels = value[0].get<Index>();
    config.image = image_size_from(Json::array({value[1], value[2]}), key, where);
  } else if (key == "mean") {
    read_json(value, config.pixel_mean, key, where);
  } else if (key == "std") {
    read_json(value, config.pixel_deviation, key, where);
  } else if (key == "crop_pct") {
    read_json(value, config.crop_share, key, where);
  } else if (key == "interpolation") {
    read_json(value, config.interpolation, key, where);
  } else if (key == "crop_mode") {
    require<ArgumentError>(value == "center", where, ": crop_mode = ", shown_json(value),
                           ", expected \"center\", which is what image_input() cuts out.");
  } else {
    return false;
  }
  return true;
}

/// What timm's arguments say.
struct TimmArguments {
  GmlpImageClassifierConfig config = timm_gmlp(512);
  double ratio = 4;  ///< hidden / channels
  Index hidden = 0;  ///< 0 for what the ratio gives
  std::string pool = "avg";
};

/// Reads an argument into the member at the end of `path`.
template <auto... path>
void read_timm(const Json& value, const std::string& key, const std::string& where, TimmArguments& to) {
  auto& member = (to.*....*path);
  if constexpr (std::is_same_v<std::remove_reference_t<decltype(member)>, ImageSize>) {
    member = image_size_from(value, key, where);
  } else {
    read_json(value, member, key, where);
  }
}

/// The arguments that have an effect, and how each is read.
inline constexpr auto timm_readers = [] {
  using Reader = void (*)(const Json&, const std::string&, const std::string&, TimmArguments&);
  using A = TimmArguments;
  using C = GmlpImageClassifierConfig;
  return std::to_array<std::pair<std::string_view, Reader>>(
      {{"img_size", read_timm<&A::config, &C::image>},
       {"image_size", read_timm<&A::config, &C::image>},
       {"patch_size", read_timm<&A::config, &C::patch>},
       {"in_chans", read_timm<&A::config, &C::image_channels>},
       {"num_blocks", read_timm<&A::config, &C::trunk, &GmlpConfig::depth>},
       {"depth", read_timm<&A::config, &C::trunk, &GmlpConfig::depth>},
       {"embed_dim", read_timm<&A::config, &C::trunk, &GmlpConfig::channels>},
       {"dim", read_timm<&A::config, &C::trunk, &GmlpConfig::channels>},
       {"mlp_ratio", read_timm<&A::ratio>},
       {"hidden", read_timm<&A::hidden>},
       {"num_classes", read_timm<&A::config, &C::classes>},
       {"stem_norm", read_timm<&A::config, &C::stem_norm>},
       {"global_pool", read_timm<&A::pool>}});
}();

/// Those that are read before the others, concern only training, or say of the file what makes no difference here.
inline constexpr std::string_view timm_others[] = {"entry",
                                                   "architecture",
                                                   "pretrained_cfg",
                                                   "model_args",
                                                   "num_features",
                                                   "nlhb",
                                                   "drop_rate",
                                                   "proj_drop_rate",
                                                   "drop_path_rate",
                                                   "label_names",
                                                   "label_descriptions",
                                                   "labels",
                                                   "fixed_input_size",
                                                   "min_input_size",
                                                   "test_input_size",
                                                   "test_crop_pct",
                                                   "pool_size",
                                                   "first_conv",
                                                   "classifier",
                                                   "url",
                                                   "hf_hub_id",
                                                   "file",
                                                   "custom_load",
                                                   "license",
                                                   "tag",
                                                   "origin_url",
                                                   "paper_ids",
                                                   "paper_name",
                                                   "notes",
                                                   "source"};

/// Reads all arguments of `object`.
inline void read_timm_arguments(const Json& object, const std::string& where, TimmArguments& to) {
  require<ArgumentError>(object.is_object(), where, ": expected a JSON object.");
  for (const auto& [key, value] : object.items()) {
    const auto found =
        std::find_if(timm_readers.begin(), timm_readers.end(), [&k = key](const auto& one) { return one.first == k; });
    if (found != timm_readers.end()) {
      found->second(value, key, where, to);
    } else if (!read_timm_images(value, key, where, to.config)) {
      const bool known = std::find(std::begin(timm_others), std::end(timm_others), key) != std::end(timm_others);
      require<ArgumentError>(known, where, ": \"", printable(key), "\" is not an argument of timm's gMLP.");
    }
  }
}

}  // namespace detail

/// The configuration that timm's constructor arguments describe, a JSON object such as
/// `{"img_size": 224, "patch_size": 16, "num_blocks": 30, "embed_dim": 256, "mlp_ratio": 6, "num_classes": 1000}`.
///
/// `entry` or `architecture` may name a published model (`"gmlp_s16_224"`), whose arguments the others then override. Missing
/// arguments have timm's defaults. Also understood are the short names image_size, dim, depth, hidden, mean and std, and the
/// `config.json` that timm writes beside a model, with its pretrained_cfg and model_args. Arguments that only concern training
/// are ignored, and so are labels: see labels.hpp.
/// Errors: ArgumentError for an argument that is unknown or of the wrong type.
inline GmlpImageClassifierConfig timm_config(std::string_view json, const std::string& where = "timm configuration") {
  const auto arguments = detail::parse_json<ArgumentError>(json, where, 8);
  require<ArgumentError>(arguments.is_object(), where, ": expected a JSON object.");
  detail::TimmArguments read;
  GmlpImageClassifierConfig& config = read.config;
  config.trunk.depth = 8;

  const auto named = [&](const char* key) {
    std::string name;
    if (const auto found = arguments.find(key); found != arguments.end() && !found->is_null()) {
      detail::read_json(*found, name, key, where);
    }
    return name;
  };
  std::string entry = named("entry");
  if (const std::string architecture = named("architecture"); entry.empty() && architecture != "timm.gmlp") {
    entry = architecture;  // as timm's own files call it
  }
  if (!entry.empty()) {
    const bool tiny = entry == "gmlp_ti16_224", small = entry == "gmlp_s16_224";
    require<ArgumentError>(tiny || small || entry == "gmlp_b16_224", where, ": entry = ", printable(entry),
                           ", expected gmlp_ti16_224, gmlp_s16_224 or gmlp_b16_224.");
    config = tiny ? gmlp_ti16_224() : small ? gmlp_s16_224() : gmlp_b16_224();
    read.ratio = 6;
  }
  if (const auto described = arguments.find("pretrained_cfg"); described != arguments.end()) {
    require<ArgumentError>(described->is_object(), where, ": pretrained_cfg = ", detail::shown_json(*described),
                           ", expected an object.");
    for (const auto& [key, value] : described->items()) {  // first, so that arguments override it
      detail::read_timm_images(value, key, where, config);
    }
  }
  detail::read_timm_arguments(arguments, where, read);
  if (const auto given = arguments.find("model_args"); given != arguments.end()) {
    detail::read_timm_arguments(*given, where + ": model_args", read);
  }
  require<ArgumentError>(read.ratio > 0 && read.ratio < 1e4, where, ": mlp_ratio = ", read.ratio,
                         ", expected a positive number.");
  require<ArgumentError>(read.pool == "avg" || read.pool.empty(), where, ": global_pool = \"", printable(read.pool),
                         "\", expected \"avg\" or \"\".");
  config.readout = read.pool.empty() ? Readout::tokens : Readout::mean;
  const double wide = static_cast<double>(config.trunk.channels) * read.ratio;
  require<ArgumentError>(std::abs(wide) < 1e15, where, ": embed_dim = ", config.trunk.channels,
                         " with mlp_ratio = ", read.ratio, " is too large.");
  config.trunk.hidden = read.hidden > 0 ? read.hidden : static_cast<Index>(wide);
  return config;
}

}  // namespace gated
