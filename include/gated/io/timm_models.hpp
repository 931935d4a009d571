#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gated/models/presets.hpp"

/// @file
/// timm's image models: published configurations, and the mapping of timm's arguments to gated's.

namespace gated::detail {

/// One model family of timm: its published configurations, and the mapping of its arguments to gated's.
///
/// hidden() is the number of rows of `mlp_channels.fc1`; `over_tokens` names the layer that mixes tokens in a block.
template <class Config>
struct TimmModels;

/// Members shared by all stacks of mixer blocks.
template <class Config>
struct TimmMixers {
  static Index& channels(Config& config) { return config.trunk.block.channels; }
  static Index hidden(const Config& config) { return config.trunk.block.channel_mixer.hidden; }
  static constexpr const char *norm = "LayerNorm", *over_tokens = "mlp_tokens.fc1";
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
  static constexpr const char *what = "gMLP", *norm = "LayerNorm", *over_tokens = "mlp_channels.gate.proj";
  static constexpr auto presets = std::to_array<TimmPreset<Config>>(
      {{"gmlp_ti16_224", gmlp_ti16_224}, {"gmlp_s16_224", gmlp_s16_224}, {"gmlp_b16_224", gmlp_b16_224}});
  static constexpr std::array<double, 2> ratio{4, 4}, published_ratio{6, 6};
  static Config defaults() {
    Config config = timm_gmlp(512);
    config.trunk.depth = 8;
    return config;
  }
  static Index& channels(Config& config) { return config.trunk.channels; }
  static Index hidden(const Config& config) { return config.trunk.hidden; }
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
  static Index hidden(const Config& config) { return 2 * config.trunk.block.channel_mixer.hidden; }
  static void set_hidden(Config& config, Index tokens, Index channels) {  // `tokens` and `channels` include the gates
    require<ArgumentError>(tokens % 2 == 0 && channels % 2 == 0, "timm configuration: embed_dim and mlp_ratio give ", tokens,
                           " and ", channels, " hidden channels, expected even numbers: half of them are gates.");
    config.trunk.block.token_mixer.hidden = tokens / 2;
    config.trunk.block.channel_mixer.hidden = channels / 2;
  }
};

template <>
struct TimmModels<ResmlpImageClassifierConfig> : TimmMixers<ResmlpImageClassifierConfig> {
  using Config = ResmlpImageClassifierConfig;
  static constexpr const char *what = "ResMLP", *norm = "Affine", *over_tokens = "linear_tokens";
  static constexpr auto presets = std::to_array<TimmPreset<Config>>({{"resmlp_12_224", resmlp_12_224},
                                                                     {"resmlp_24_224", resmlp_24_224},
                                                                     {"resmlp_36_224", resmlp_36_224},
                                                                     {"resmlp_big_24_224", resmlp_big_24_224}});
  static constexpr std::array<double, 2> ratio{4, 4}, published_ratio = ratio;
  static Config defaults() { return timm_resmlp({.depth = 8, .channels = 512}); }
  static void set_hidden(Config& config, Index, Index channels) { config.trunk.block.channel_mixer.hidden = channels; }
};

/// A model's name without the tag of its weights: "mixer_b16_224" for "mixer_b16_224.goog_in21k_ft_in1k".
inline std::string_view timm_model_of(std::string_view name) { return name.substr(0, name.find('.')); }

/// The published configuration called `name`, with or without a tag; nullptr if there is none.
template <class Config>
const TimmPreset<Config>* find_timm_preset(std::string_view name) {
  const auto& presets = TimmModels<Config>::presets;
  const auto found =
      std::find_if(presets.begin(), presets.end(), [&](const auto& preset) { return preset.first == timm_model_of(name); });
  return found == presets.end() ? nullptr : &*found;
}

/// A list for error messages: "gmlp_ti16_224, gmlp_s16_224 or gmlp_b16_224".
template <class Config>
std::string list_timm_presets() {
  std::string list;
  const auto& presets = TimmModels<Config>::presets;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    list += text(i == 0 ? "" : i + 1 == presets.size() ? " or " : ", ", presets[i].first);
  }
  return list;
}

}  // namespace gated::detail
