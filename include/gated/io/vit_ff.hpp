#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Checkpoints of ViT-FF, the stack of feed-forward layers (LinearVisionTransformer from do-you-even-need-attention).

namespace gated {

namespace detail {

inline NameMap vit_ff_names(const std::string& ours, const std::string& theirs) {
  NameMap names{.origin = "do-you-even-need-attention"};
  names.add(ours, theirs,
            {{"channels.norm", "norm1"},
             {"channels.mixer.proj_in", "mlp1.fc1"},
             {"channels.mixer.proj_out", "mlp1.fc2"},
             {"tokens.mixer.norm", "norm2"},
             {"tokens.mixer.proj_in", "mlp2.fc1", ShapeForm::drop_leading_one},
             {"tokens.mixer.proj_out", "mlp2.fc2", ShapeForm::drop_leading_one}});
  return names;
}

}  // namespace detail

/// Name map to load LinearBlock as an MlpMixer block with `channels_first` and `tokens.mixer.norm`, but without `tokens.norm`.
inline NameMap vit_ff_block_names() { return detail::vit_ff_names("", ""); }

/// Name map to load LinearVisionTransformer as MixerImageClassifier with the configuration vit_ff().
inline NameMap vit_ff_names() {
  NameMap names = detail::vit_ff_names("trunk.blocks.*.", "blocks.*.");
  names.add("", "",
            {{"patch_embedding", "patch_embed.proj"},
             {"class_token", "cls_token", ShapeForm::prepend_two_ones},
             {"position.weight", "pos_encoding.pos_embed"},
             {"position.class_token", "pos_encoding.cls_pos_embed", ShapeForm::prepend_two_ones}});
  return names;
}

}  // namespace gated
