#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Name maps for checkpoints of lucidrains' FLASH-pytorch: GAU, FLASH, FLASHTransformer.

namespace gated {

namespace detail {

/// Adds the rules that GAU and FLASH share. The layer is at `ours`, called `theirs` in the file. Each path is empty
/// or ends in a dot.
inline void add_lucidrains_attention(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(ours, theirs,
            {{"norm.gain", "norm.g"},
             {"norm", "norm"},
             {"projection.hidden", "to_hidden.0"},
             {"projection.qk", "to_qk.0"},
             {"relative_bias", "rel_pos_bias.relative_attention_bias", ShapeForm::append_one}});
}

/// The names of an offset-scale's parameters.
enum class OffsetScaleNames {
  gamma_and_beta,  ///< the names that lucidrains uses
  weight_and_bias  ///< the names that JunnYu's port uses
};

/// Adds the rules for a FLASH layer.
inline void add_lucidrains_flash(NameMap& names, const std::string& ours, const std::string& theirs,
                                 OffsetScaleNames form = OffsetScaleNames::gamma_and_beta) {
  const bool gamma = form == OffsetScaleNames::gamma_and_beta;
  add_lucidrains_attention(names, ours, theirs);
  names.add(ours, theirs,
            {{"offset_scale.weight", gamma ? "qk_offset_scale.gamma" : "qk_offset_scale.weight"},
             {"offset_scale.bias", gamma ? "qk_offset_scale.beta" : "qk_offset_scale.bias"},
             {.ours = "rotary.frequencies", .theirs = "rotary_pos_emb.freqs", .shared = true},
             {"proj_out", "to_out"}});
}

}  // namespace detail

/// Name map to load GAU as GatedAttentionUnit.
inline NameMap lucidrains_gau_names() {
  NameMap names{.origin = "FLASH-pytorch"};
  detail::add_lucidrains_attention(names, "", "");
  names.add(
      "", "",
      {{"offset_scale.weight", "offsetscale.gamma"}, {"offset_scale.bias", "offsetscale.beta"}, {"proj_out", "to_out.0"}});
  return names;
}

/// Name map to load FLASH as MixedChunkAttention.
inline NameMap lucidrains_flash_names() {
  NameMap names{.origin = "FLASH-pytorch"};
  detail::add_lucidrains_flash(names, "", "");
  return names;
}

/// Name map to load FLASHTransformer as FlashLanguageModel with `.position = PositionForm::sinusoid` and
/// `.head = {.form = HeadForm::untied, .bias = true}`.
inline NameMap lucidrains_flash_transformer_names() {
  NameMap names{.origin = "FLASH-pytorch"};
  names.add("", "",
            {{"embedding", "token_emb"},
             {"position.scale", "abs_pos_emb.scale"},
             {"position.frequencies", "abs_pos_emb.inv_freq"},
             {"head.norm", "to_logits.0"},
             {"head.output", "to_logits.1"}});
  detail::add_lucidrains_flash(names, "trunk.blocks.*.", "layers.*.");
  return names;
}

}  // namespace gated
