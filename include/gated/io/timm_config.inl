#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "gated/io/config_json.hpp"
#include "gated/io/timm_config.hpp"
#include "gated/io/timm_models.hpp"

namespace gated {

namespace detail {

[[noreturn]] inline void refuse_image_size(const std::string& shown, const std::string& key, const std::string& where) {
  raise<ArgumentError>(where, ": ", key, " = ", shown, ", expected an integer or [height, width].");
}

/// Reads an integer that must fit Index, which has 32 bits on some machines.
inline Index index_from(const Json& value, const std::string& key, const std::string& where) {
  Index number = 0;
  read_json(value, number, key, where);
  return number;
}

/// Reads a size from [height, width].
inline ImageSize image_size_of(std::span<const Json> list, const std::string& key, const std::string& where) {
  if (list.size() != 2 || !list[0].is_integer() || !list[1].is_integer()) {
    refuse_image_size(shown_json(list), key, where);
  }
  return {index_from(list[0], key, where), index_from(list[1], key, where)};
}

/// Reads a size from an integer or [height, width].
inline ImageSize image_size_from(const Json& value, const std::string& key, const std::string& where) {
  if (value.is_integer()) {
    const Index side = index_from(value, key, where);
    return {side, side};
  }
  if (!value.is_array()) {
    refuse_image_size(shown_json(value), key, where);
  }
  return image_size_of(value.elements(), key, where);
}

/// Arguments of timm that are applied after all arguments have been read.
struct TimmArguments {
  std::array<double, 2> ratio{};  ///< hidden / channels, of the token MLP and of the channel MLP
  Index hidden = 0;               ///< hidden channels of the channel MLP; 0 to use the ratio
  std::string pool = "avg";
  std::string activation = {};  ///< the name of a PyTorch class; empty for the model's default
  std::string norm = {};        ///< the name of a PyTorch class; empty for the model's default
};

/// Reads a key that describes the input images and their preparation. Returns false for other keys.
template <class Config>
bool read_timm_images(const Json& value, const std::string& key, const std::string& where, Config& config) {
  const bool is_of_one_channel = value.is_array() && value.elements().size() == 1;  // such as [0.5]
  const Json& per_channel = is_of_one_channel ? value.elements()[0] : value;
  if (key == "input_size") {
    require<ArgumentError>(value.is_array() && value.elements().size() == 3 && value.elements()[0].is_integer(), where, ": ",
                           key, " = ", shown_json(value), ", expected [channels, height, width].");
    config.image_channels = index_from(value.elements()[0], key, where);
    config.image = image_size_of(std::span(value.elements()).subspan(1), key, where);
  } else if (key == "mean") {
    read_json(per_channel, config.pixel_mean, key, where);
  } else if (key == "std") {
    read_json(per_channel, config.pixel_deviation, key, where);
  } else if (key == "crop_pct") {
    read_json(value, config.crop_share, key, where);
  } else if (key == "interpolation") {
    read_json(value, config.interpolation, key, where);
  } else if (key == "crop_mode") {
    require<ArgumentError>(value.is("center"), where, ": crop_mode = ", shown_json(value),
                           ", expected \"center\", as image_input() crops the centre.");
  } else {
    return false;
  }
  return true;
}

/// Keys that read_timm_argument() ignores: they are read elsewhere, concern only training, or have no effect here.
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

/// Reads one of timm's arguments. Returns false if its name is unknown.
template <class Config>
bool read_timm_argument(const std::string& key, const Json& value, const std::string& where, Config& config,
                        TimmArguments& read) {
  const auto is = [&](auto... names) { return ((key == names) || ...); };
  const auto into = [&](auto& member) { read_json(value, member, key, where); };
  if (is("img_size", "image_size")) {
    config.image = image_size_from(value, key, where);
  } else if (is("patch_size")) {
    config.patch = image_size_from(value, key, where);
  } else if (is("in_chans")) {
    into(config.image_channels);
  } else if (is("num_blocks", "depth")) {
    into(config.trunk.depth);
  } else if (is("embed_dim", "dim")) {
    into(TimmModels<Config>::channels(config));
  } else if (is("mlp_ratio")) {
    if (value.is_array()) {
      into(read.ratio);
    } else {
      into(read.ratio[0]);
      read.ratio[1] = read.ratio[0];
    }
  } else if (is("hidden")) {
    into(read.hidden);
  } else if (is("num_classes")) {
    into(config.classes);
  } else if (is("stem_norm")) {
    into(config.stem_norm);
  } else if (is("global_pool")) {
    into(read.pool);
  } else if (is("act_layer")) {
    into(read.activation);
  } else if (is("norm_layer")) {
    into(read.norm);
  } else if (!read_timm_images(value, key, where, config)) {
    return std::find(std::begin(timm_others), std::end(timm_others), key) != std::end(timm_others);
  }
  return true;
}

/// The string under `key`; empty if it is absent or null.
inline std::string timm_text(const Json& arguments, const char* key, const std::string& where) {
  std::string name;
  if (const Json* const found = arguments.find(key); found != nullptr && !found->is_null()) {
    read_json(*found, name, key, where);
  }
  return name;
}

/// The published model named by `entry` or `architecture`; empty if neither names one.
inline std::string timm_entry(const Json& arguments, const std::string& where) {
  const std::string entry = timm_text(arguments, "entry", where), architecture = timm_text(arguments, "architecture", where);
  return entry.empty() && architecture != "timm.gmlp" ? architecture : entry;  // timm's own files use `architecture`
}

inline Json timm_arguments(std::string_view json, const std::string& where) {
  Json arguments = parse_json<ArgumentError>(json, where, 8);
  require<ArgumentError>(arguments.is_object(), where, ": expected a JSON object.");
  return arguments;
}

/// Returns the configuration of the published model `entry` and stores its MLP ratios in `read`.
template <class Config>
Config timm_preset(const std::string& entry, const Config& defaults, const std::string& where, TimmArguments& read) {
  const auto* const preset = find_timm_preset<Config>(entry);
  require<ArgumentError>(preset != nullptr, where, ": entry = ", printable(entry), ", expected ", list_timm_presets<Config>(),
                         ".");
  const bool is_google = entry.ends_with(".goog_in21k"), is_miil = entry.ends_with(".miil_in21k");
  Config config = preset->second(is_google ? 21843 : is_miil ? 11221 : defaults.classes);  // classes of ImageNet-21k
  read.ratio = TimmModels<Config>::published_ratio;
  if (entry.find(".miil_") != std::string::npos) {  // trained on pixels in [0, 1], not normalized
    config.pixel_mean = 0;
    config.pixel_deviation = 1;
    config.interpolation = Interpolation::bilinear;
  }
  return config;
}

/// Applies the arguments that depend on others.
template <class Config>
void apply_timm_arguments(const TimmArguments& read, const std::string& where, Config& config) {
  using Models = TimmModels<Config>;
  require<ArgumentError>(read.pool == "avg" || read.pool.empty(), where, ": global_pool = \"", printable(read.pool),
                         "\", expected \"avg\" or \"\".");
  config.pooling = read.pool.empty() ? Pooling::tokens : Pooling::mean;
  if (!read.activation.empty()) {
    std::string word = read.activation;
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto activation = value_named<Activation>(word);
    require<ArgumentError>(activation.has_value(), where, ": act_layer = \"", printable(read.activation),
                           "\", expected one of ", list_of_names<Activation>(), ".");
    Models::set_activation(config, *activation);
  }
  require<ArgumentError>(read.norm.empty() || read.norm.starts_with(Models::norm), where, ": norm_layer = \"",
                         printable(read.norm), "\", expected \"", Models::norm, "\", the norm of a ", Models::what, ".");
  std::array<Index, 2> hidden{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Index channels = Models::channels(config);
    require<ArgumentError>(read.ratio[i] > 0 && read.ratio[i] < 1e4, where, ": mlp_ratio = ", read.ratio[i],
                           ", expected a positive number.");
    const double wide = static_cast<double>(channels) * read.ratio[i];
    require<ArgumentError>(std::abs(wide) < 1e15, where, ": embed_dim = ", channels, " with mlp_ratio = ", read.ratio[i],
                           " is too large.");
    hidden[i] = static_cast<Index>(wide);
  }
  Models::set_hidden(config, hidden[0], read.hidden > 0 ? read.hidden : hidden[1]);
}

}  // namespace detail

template <class Config>
Config timm_config(std::string_view json, const std::string& where) {
  using Models = detail::TimmModels<Config>;
  const auto arguments = detail::timm_arguments(json, where);
  Config config = Models::defaults();
  detail::TimmArguments read{.ratio = Models::ratio};
  if (const std::string entry = detail::timm_entry(arguments, where); !entry.empty()) {
    config = detail::timm_preset(entry, config, where, read);
  }
  if (const detail::Json* const described = arguments.find("pretrained_cfg")) {
    require<ArgumentError>(described->is_object(), where, ": pretrained_cfg = ", detail::shown_json(*described),
                           ", expected an object.");
    for (const auto& [key, value] : described->entries()) {  // pretrained_cfg is read first: the arguments override it
      detail::read_timm_images(value, key, where, config);
    }
  }
  const auto read_all = [&](const detail::Json& object) {
    for (const auto& [key, value] : object.entries()) {
      require<ArgumentError>(detail::read_timm_argument(key, value, where, config, read), where, ": \"", printable(key),
                             "\" is not an argument of timm's ", Models::what, ".");
    }
  };
  read_all(arguments);
  if (const detail::Json* const others = arguments.find("model_args"); others != nullptr && !others->is_null()) {
    require<ArgumentError>(others->is_object(), where, ": model_args = ", detail::shown_json(*others), ", expected an object.");
    read_all(*others);
  }
  detail::apply_timm_arguments(read, where, config);
  return config;
}

namespace detail {

GATED_INLINE TimmConfig any_timm_config(std::string_view json, const std::string& where) {
  const std::string entry = timm_entry(timm_arguments(json, where), where);
  TimmConfig config;
  std::string known;
  const auto fits = [&]<class Config>(std::type_identity<Config>) {
    const bool found = entry.empty() || find_timm_preset<Config>(entry) != nullptr;
    if (found) {
      config = timm_config<Config>(json, where);
    }
    known += text(known.empty() ? "" : ", ", list_timm_presets<Config>());
    return found;
  };
  const bool found = [&]<class... Configs>(std::type_identity<std::variant<Configs...>>) {
    return (fits(std::type_identity<Configs>()) || ...);
  }(std::type_identity<TimmConfig>());
  require<ArgumentError>(found, where, ": entry = ", printable(entry), ", expected ", known, ".");
  return config;
}

}  // namespace detail

}  // namespace gated
