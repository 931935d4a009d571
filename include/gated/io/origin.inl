#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/io/origin.hpp"

namespace gated {

namespace detail {

/// The first tensor whose name is `ending`, or ends with it after a dot, and that name; nullptr without one.
GATED_INLINE std::pair<std::string_view, const TensorEntry*> named_ending(const SafetensorsFile& file,
                                                                          std::string_view ending) {
  for (const auto& [name, entry] : file.tensors()) {
    const std::size_t before = name.size() - std::min(name.size(), ending.size());
    if (name.ends_with(ending) && (before == 0 || name[before - 1] == '.')) {
      return {name, &entry};
    }
  }
  return {"", nullptr};
}

GATED_INLINE bool has_plain_token_mlp(const SafetensorsFile& file) {
  const TensorEntry* const in = tensor_ending(file, "blocks.0.mlp_tokens.fc1.weight");
  const TensorEntry* const out = tensor_ending(file, "blocks.0.mlp_tokens.fc2.weight");
  return in != nullptr && out != nullptr && in->shape.size() == 2 && out->shape.size() == 2 && in->shape[0] == out->shape[1];
}

GATED_INLINE bool is_plain_forecaster(const SafetensorsFile& file) {
  return std::none_of(file.tensors().begin(), file.tensors().end(),
                      [](const auto& named) { return named.first.find("residual_forecaster.") != std::string::npos; });
}

}  // namespace detail

GATED_INLINE const TensorEntry* tensor_ending(const SafetensorsFile& file, std::string_view ending) {
  return detail::named_ending(file, ending).second;
}

GATED_INLINE Index count_blocks(const SafetensorsFile& file, std::string_view before, std::string_view after) {
  Index count = 0;
  while (tensor_ending(file, text(before, count, after)) != nullptr) {
    ++count;
  }
  return count;
}

GATED_INLINE const Origin* origin_of(const SafetensorsFile& file) {
  const auto found = std::find_if(known_origins.begin(), known_origins.end(), [&](const Origin& origin) {
    return std::all_of(origin.marks.begin(), origin.marks.end(),
                       [&](const char* mark) { return tensor_ending(file, mark) != nullptr; }) &&
           (origin.fits == nullptr || origin.fits(file));
  });
  return found == known_origins.end() ? nullptr : &*found;
}

GATED_INLINE std::string timm_preset_of(const SafetensorsFile& file) {
  struct Published {
    const char* name;
    const char* mixer;  // of the tokens, in each block; its last axis is the patches
    Index depth, channels, patch, hidden;
  };
  constexpr const char *gate = "mlp_channels.gate.proj", *mlp = "mlp_tokens.fc1", *linear = "linear_tokens";
  // gMixers have the names of MLP-Mixers; the channels' hidden numbers tell them apart.
  constexpr auto published = std::to_array<Published>({{"gmlp_ti16_224", gate, 30, 128, 16, 6 * 128},
                                                       {"gmlp_s16_224", gate, 30, 256, 16, 6 * 256},
                                                       {"gmlp_b16_224", gate, 30, 512, 16, 6 * 512},
                                                       {"mixer_s32_224", mlp, 8, 512, 32, 4 * 512},
                                                       {"mixer_s16_224", mlp, 8, 512, 16, 4 * 512},
                                                       {"mixer_b32_224", mlp, 12, 768, 32, 4 * 768},
                                                       {"mixer_b16_224", mlp, 12, 768, 16, 4 * 768},
                                                       {"mixer_l32_224", mlp, 24, 1024, 32, 4 * 1024},
                                                       {"mixer_l16_224", mlp, 24, 1024, 16, 4 * 1024},
                                                       {"gmixer_12_224", mlp, 12, 384, 16, 4 * 384},
                                                       {"gmixer_24_224", mlp, 24, 384, 16, 4 * 384},
                                                       {"resmlp_12_224", linear, 12, 384, 16, 4 * 384},
                                                       {"resmlp_24_224", linear, 24, 384, 16, 4 * 384},
                                                       {"resmlp_36_224", linear, 36, 384, 16, 4 * 384},
                                                       {"resmlp_big_24_224", linear, 24, 768, 8, 4 * 768}});
  const auto has = [&](const std::string& ending, const std::vector<Index>& shape) {
    const TensorEntry* const tensor = tensor_ending(file, ending);
    return tensor != nullptr && tensor->shape == shape;
  };
  for (const Published& one : published) {
    const TensorEntry* const mixer = tensor_ending(file, text("blocks.0.", one.mixer, ".weight"));
    const Index side = 224 / one.patch;
    if (mixer != nullptr && mixer->shape.size() == 2 && mixer->shape[1] == side * side &&
        has("stem.proj.weight", {one.channels, 3, one.patch, one.patch}) &&
        has("blocks.0.mlp_channels.fc1.weight", {one.hidden, one.channels}) &&
        count_blocks(file, "blocks.", ".mlp_channels.fc1.weight") == one.depth) {
      const TensorEntry* const head = tensor_ending(file, "head.bias");
      const Index classes = head == nullptr ? 0 : static_cast<Index>(head->count());
      return classes == 1000 ? text(one.name, "()") : text(one.name, "(", classes, ")");
    }
  }
  return {};
}

}  // namespace gated
