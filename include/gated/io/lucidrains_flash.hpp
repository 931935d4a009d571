#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Checkpoints of lucidrains' FLASH-pytorch: GAU, FLASH, FLASHTransformer.

namespace gated {

namespace detail {

/// The rules that GAU and FLASH share, for the layer at `ours` that the file calls `theirs` (each ends in a dot, or is empty).
inline void add_lucidrains_attention(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.rules.push_back({ours + "norm.gain", theirs + "norm.g"});
  names.rules.push_back({ours + "norm", theirs + "norm"});
  names.rules.push_back({ours + "projection.hidden", theirs + "to_hidden.0"});
  names.rules.push_back({ours + "projection.qk", theirs + "to_qk.0"});
  names.rules.push_back({ours + "relative_bias", theirs + "rel_pos_bias.relative_attention_bias", ShapeForm::append_one});
}

/// The rules for a FLASH layer, whose offset-scale JunnYu's port calls `weight` and `bias`.
inline void add_lucidrains_flash(NameMap& names, const std::string& ours, const std::string& theirs, bool junnyu = false) {
  add_lucidrains_attention(names, ours, theirs);
  names.rules.push_back({ours + "offset_scale.weight", theirs + "qk_offset_scale." + (junnyu ? "weight" : "gamma")});
  names.rules.push_back({ours + "offset_scale.bias", theirs + "qk_offset_scale." + (junnyu ? "bias" : "beta")});
  names.rules.push_back({.ours = ours + "rotary.frequencies", .theirs = theirs + "rotary_pos_emb.freqs", .shared = true});
  names.rules.push_back({ours + "proj_out", theirs + "to_out"});
}

}  // namespace detail

/// GAU as GatedAttentionUnit.
inline NameMap lucidrains_gau_names() {
  NameMap names{.origin = "FLASH-pytorch"};
  detail::add_lucidrains_attention(names, "", "");
  names.rules.push_back({"offset_scale.weight", "offsetscale.gamma"});
  names.rules.push_back({"offset_scale.bias", "offsetscale.beta"});
  names.rules.push_back({"proj_out", "to_out.0"});
  return names;
}

/// FLASH as MixedChunkAttention.
inline NameMap lucidrains_flash_names() {
  NameMap names{.origin = "FLASH-pytorch"};
  detail::add_lucidrains_flash(names, "", "");
  return names;
}

/// FLASHTransformer as FlashLanguageModel with an untied head.
inline NameMap lucidrains_flash_transformer_names() {
  NameMap names{.origin = "FLASH-pytorch",
                .rules = {{"embedding", "token_emb"},
                          {"position.scale", "abs_pos_emb.scale"},
                          {"position.frequencies", "abs_pos_emb.inv_freq"},
                          {"head.norm", "to_logits.0"},
                          {"head.output", "to_logits.1"}}};
  detail::add_lucidrains_flash(names, "trunk.layers.*.", "layers.*.");
  return names;
}

}  // namespace gated
