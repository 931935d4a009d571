#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gated/io/config_json.hpp"
#include "gated/models/presets.hpp"

/// @file
/// timm's configurations of gMLP, MLP-Mixer, gMixer and ResMLP models: constructor arguments and `config.json`.

namespace gated {

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

/// timm's arguments that say the same of all its models, and those whose meaning depends on the model.
struct TimmArguments {
  std::array<double, 2> ratio{};  ///< hidden / channels, of the tokens' MLP and of the channels'
  Index hidden = 0;               ///< of the channels' MLP; 0 for what the ratio gives
  std::string pool = "avg";
  std::string activation = {};  ///< a PyTorch class; empty for the model's own
  std::string norm = {};        ///< likewise
};

/// What timm's file says of one kind of model: its published configurations, and how its arguments become ours.
template <class Config>
struct TimmModels;

/// The parts of the configuration of a stack of mixer blocks that all these models have.
template <class Config>
struct TimmMixers {
  static Index& channels(Config& config) { return config.trunk.block.channels; }
  static constexpr const char* norm = "LayerNorm";
  static void set_activation(Config& config, Activation activation) {
    if constexpr (requires { config.trunk.block.token_mixer.activation; }) {
      config.trunk.block.token_mixer.activation = activation;
    }
    config.trunk.block.channel_mixer.activation = activation;
  }
};

template <class Config>
using TimmPreset = std::pair<std::string_view, Config (*)(Index classes)>;

template <>
struct TimmModels<GmlpImageClassifierConfig> {
  using Config = GmlpImageClassifierConfig;
  static constexpr const char *what = "gMLP", *norm = "LayerNorm";
  static constexpr auto presets = std::to_array<TimmPreset<Config>>(
      {{"gmlp_ti16_224", gmlp_ti16_224}, {"gmlp_s16_224", gmlp_s16_224}, {"gmlp_b16_224", gmlp_b16_224}});
  static constexpr std::array<double, 2> ratio{4, 4}, published_ratio{6, 6};
  static Config defaults() {
    Config config = timm_gmlp(512);
    config.trunk.depth = 8;
    return config;
  }
  static Index& channels(Config& config) { return config.trunk.channels; }
  static void set_hidden(Config& config, Index, Index hidden) { config.trunk.hidden = hidden; }
  static void set_activation(Config& config, Activation activation) { config.trunk.activation = activation; }
};

template <>
struct TimmModels<MixerImageClassifierConfig> : TimmMixers<MixerImageClassifierConfig> {
  using Config = MixerImageClassifierConfig;
  static constexpr const char* what = "MLP-Mixer";
  static constexpr auto presets = std::to_array<TimmPreset<Config>>({{"mixer_s32_224", mixer_s32_224},
                                                                     {"mixer_s16_224", mixer_s16_224},
                                                                     {"mixer_b32_224", mixer_b32_224},
                                                                     {"mixer_b16_224", mixer_b16_224},
                                                                     {"mixer_l32_224", mixer_l32_224},
                                                                     {"mixer_l16_224", mixer_l16_224}});
  static constexpr std::array<double, 2> ratio{0.5, 4}, published_ratio = ratio;
  static Config defaults() { return timm_mixer({.depth = 8, .channels = 512}); }
  static void set_hidden(Config& config, Index tokens, Index channels) {
    config.trunk.block.token_mixer.hidden = tokens;
    config.trunk.block.channel_mixer.hidden = channels;
  }
};

template <>
struct TimmModels<GmixerImageClassifierConfig> : TimmMixers<GmixerImageClassifierConfig> {
  using Config = GmixerImageClassifierConfig;
  static constexpr const char* what = "gMixer";
  static constexpr auto presets =
      std::to_array<TimmPreset<Config>>({{"gmixer_12_224", gmixer_12_224}, {"gmixer_24_224", gmixer_24_224}});
  static constexpr std::array<double, 2> ratio{1, 4}, published_ratio = ratio;
  static Config defaults() { return timm_gmixer({.depth = 8, .channels = 512}); }
  static void set_hidden(Config& config, Index tokens, Index channels) {  // which count the gate too
    require<ArgumentError>(tokens % 2 == 0 && channels % 2 == 0, "timm configuration: embed_dim and mlp_ratio give ", tokens,
                           " and ", channels, " hidden numbers, expected even ones: half of them are gates.");
    config.trunk.block.token_mixer.hidden = tokens / 2;
    config.trunk.block.channel_mixer.hidden = channels / 2;
  }
};

template <>
struct TimmModels<ResmlpImageClassifierConfig> : TimmMixers<ResmlpImageClassifierConfig> {
  using Config = ResmlpImageClassifierConfig;
  static constexpr const char *what = "ResMLP", *norm = "Affine";
  static constexpr auto presets = std::to_array<TimmPreset<Config>>({{"resmlp_12_224", resmlp_12_224},
                                                                     {"resmlp_24_224", resmlp_24_224},
                                                                     {"resmlp_36_224", resmlp_36_224},
                                                                     {"resmlp_big_24_224", resmlp_big_24_224}});
  static constexpr std::array<double, 2> ratio{4, 4}, published_ratio = ratio;
  static Config defaults() { return timm_resmlp({.depth = 8, .channels = 512}); }
  static void set_hidden(Config& config, Index, Index channels) { config.trunk.block.channel_mixer.hidden = channels; }
};

/// "mixer_b16_224" of "mixer_b16_224.goog_in21k_ft_in1k", which names the weights too.
inline std::string_view timm_model_of(std::string_view name) { return name.substr(0, name.find('.')); }

/// The published configuration of that name among those of one kind; nullptr if it has none.
template <class Config>
const TimmPreset<Config>* find_timm_preset(std::string_view name) {
  const auto& presets = TimmModels<Config>::presets;
  const auto found =
      std::find_if(presets.begin(), presets.end(), [&](const auto& preset) { return preset.first == timm_model_of(name); });
  return found == presets.end() ? nullptr : &*found;
}

/// "gmlp_ti16_224, gmlp_s16_224 or gmlp_b16_224"
template <class Config>
std::string list_timm_presets() {
  std::string list;
  const auto& presets = TimmModels<Config>::presets;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    list += text(i == 0 ? "" : i + 1 == presets.size() ? " or " : ", ", presets[i].first);
  }
  return list;
}

/// Reads what a file says of the images that a model was trained with. Returns false for a key that says nothing of them.
template <class Config>
bool read_timm_images(const Json& value, const std::string& key, const std::string& where, Config& config) {
  if (key == "input_size") {
    require<ArgumentError>(value.is_array() && value.size() == 3 && value[0].is_number_integer(), where, ": ", key, " = ",
                           shown_json(value), ", expected [channels, height, width].");
    config.image_channels = value[0].template get<Index>();
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

/// Reads one of timm's arguments. Returns false if there is none of that name.
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

/// The text of `key`; empty where it is absent or null.
inline std::string timm_text(const Json& arguments, const char* key, const std::string& where) {
  std::string name;
  if (const auto found = arguments.find(key); found != arguments.end() && !found->is_null()) {
    read_json(*found, name, key, where);
  }
  return name;
}

/// The published model that the arguments name; empty if they name none.
inline std::string timm_entry(const Json& arguments, const std::string& where) {
  const std::string entry = timm_text(arguments, "entry", where), architecture = timm_text(arguments, "architecture", where);
  return entry.empty() && architecture != "timm.gmlp" ? architecture : entry;  // as timm's own files call it
}

inline Json timm_arguments(std::string_view json, const std::string& where) {
  Json arguments = parse_json<ArgumentError>(json, where, 8);
  require<ArgumentError>(arguments.is_object(), where, ": expected a JSON object.");
  return arguments;
}

}  // namespace detail

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
Config timm_config(std::string_view json, const std::string& where = "timm configuration") {
  using Models = detail::TimmModels<Config>;
  const auto arguments = detail::timm_arguments(json, where);
  Config config = Models::defaults();
  detail::TimmArguments read{.ratio = Models::ratio};
  if (const std::string entry = detail::timm_entry(arguments, where); !entry.empty()) {
    const auto* const preset = detail::find_timm_preset<Config>(entry);
    require<ArgumentError>(preset != nullptr, where, ": entry = ", printable(entry), ", expected ",
                           detail::list_timm_presets<Config>(), ".");
    config = preset->second(config.classes);
    read.ratio = Models::published_ratio;
    if (entry.find(".miil_") != std::string::npos) {  // whose training left the pixels as they are
      config.pixel_mean = 0;
      config.pixel_deviation = 1;
      config.interpolation = Interpolation::bilinear;
    }
  }
  if (const auto described = arguments.find("pretrained_cfg"); described != arguments.end()) {
    require<ArgumentError>(described->is_object(), where, ": pretrained_cfg = ", detail::shown_json(*described),
                           ", expected an object.");
    for (const auto& [key, value] : described->items()) {  // first, so that arguments override it
      detail::read_timm_images(value, key, where, config);
    }
  }
  const auto read_all = [&](const detail::Json& object) {
    for (const auto& [key, value] : object.items()) {
      require<ArgumentError>(detail::read_timm_argument(key, value, where, config, read), where, ": \"", printable(key),
                             "\" is not an argument of timm's ", Models::what, ".");
    }
  };
  read_all(arguments);
  if (const auto others = arguments.find("model_args"); others != arguments.end() && !others->is_null()) {
    require<ArgumentError>(others->is_object(), where, ": model_args = ", detail::shown_json(*others), ", expected an object.");
    read_all(*others);
  }
  require<ArgumentError>(read.pool == "avg" || read.pool.empty(), where, ": global_pool = \"", printable(read.pool),
                         "\", expected \"avg\" or \"\".");
  config.readout = read.pool.empty() ? Readout::tokens : Readout::mean;
  if (!read.activation.empty()) {
    std::string word = read.activation;
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto activation = value_named<Activation>(word);
    require<ArgumentError>(activation.has_value(), where, ": act_layer = \"", printable(read.activation),
                           "\", expected one of ", list_of_names<Activation>(), ".");
    Models::set_activation(config, *activation);
  }
  require<ArgumentError>(read.norm.empty() || read.norm.starts_with(Models::norm), where, ": norm_layer = \"",
                         printable(read.norm), "\", expected \"", Models::norm, "\", which a ", Models::what, " has.");
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
  return config;
}

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
  const std::string entry = detail::timm_entry(detail::timm_arguments(json, where), where);
  if (detail::find_timm_preset<MixerImageClassifierConfig>(entry) != nullptr) {
    return f(timm_config<MixerImageClassifierConfig>(json, where));
  }
  if (detail::find_timm_preset<GmixerImageClassifierConfig>(entry) != nullptr) {
    return f(timm_config<GmixerImageClassifierConfig>(json, where));
  }
  if (detail::find_timm_preset<ResmlpImageClassifierConfig>(entry) != nullptr) {
    return f(timm_config<ResmlpImageClassifierConfig>(json, where));
  }
  const bool known = entry.empty() || detail::find_timm_preset<GmlpImageClassifierConfig>(entry) != nullptr;
  require<ArgumentError>(
      known, where, ": entry = ", printable(entry), ", expected ", detail::list_timm_presets<GmlpImageClassifierConfig>(), ", ",
      detail::list_timm_presets<MixerImageClassifierConfig>(), ", ", detail::list_timm_presets<GmixerImageClassifierConfig>(),
      ", ", detail::list_timm_presets<ResmlpImageClassifierConfig>(), ".");
  return f(timm_config<GmlpImageClassifierConfig>(json, where));
}

}  // namespace gated
