#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Name maps for the transformers in checkpoints of BS-RoFormer (github.com/lucidrains/BS-RoFormer).

namespace gated {

namespace detail {

inline void add_bs_roformer_attention(NameMap& names, const std::string& norm, const std::string& ours,
                                      const std::string& theirs) {
  names.add("", theirs, std::vector<NameMap::Rule>{{.ours = norm + ".weight", .theirs = "norm.gamma"}});
  names.add(ours, theirs,
            {{"qkv", "to_qkv"}, {"rotary.frequencies", "rotary_embed.freqs"}, {"gate", "to_gates"}, {"proj_out", "to_out.0"}});
}

inline void add_bs_roformer_feed_forward(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(ours, theirs + "net.", {{"norm.weight", "0.gamma"}, {"mixer.proj_in", "1"}, {"mixer.proj_out", "4"}});
}

}  // namespace detail

/// Name map to load BS-RoFormer's Attention as a layer with a `norm` and a SelfAttention called `mixer`.
inline NameMap bs_roformer_attention_names() {
  NameMap names{.origin = "BS-RoFormer"};
  detail::add_bs_roformer_attention(names, "norm", "mixer.", "");
  return names;
}

/// Name map to load BS-RoFormer's FeedForward as a layer with a `norm` and a FeedForward called `mixer`.
inline NameMap bs_roformer_feed_forward_names() {
  NameMap names{.origin = "BS-RoFormer"};
  detail::add_bs_roformer_feed_forward(names, "", "");
  return names;
}

/// Name map to load BS-RoFormer's Transformer as Roformer. To load a Transformer from the file of a whole model, set `prefix`
/// to the Transformer's path, such as "layers.3.0.".
inline NameMap bs_roformer_names() {
  NameMap names{.origin = "BS-RoFormer"};
  detail::add_bs_roformer_attention(names, "trunk.blocks.*.tokens.norm", "trunk.blocks.*.tokens.mixer.", "layers.*.0.");
  detail::add_bs_roformer_feed_forward(names, "trunk.blocks.*.channels.", "layers.*.1.");
  names.add("", "", {{"norm.weight", "norm.gamma"}});
  return names;
}

}  // namespace gated
