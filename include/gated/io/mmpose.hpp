#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Name maps for checkpoints of mmpose: RTMPose's head (RTMCCHead), and its gated attention unit (RTMCCBlock). A checkpoint of
/// a whole RTMPose model also loads as a PoseHead. To load only the unit from it, set `prefix` and `ignored`:
///
///     PoseHead<float> head(rtmpose_m_head());
///     load_parameters(head, SafetensorsFile("rtmpose.safetensors"), rtmcc_head_names());
///
///     NameMap names = rtmcc_names();
///     names.prefix = "head.gau.";
///     names.ignored = {"backbone", "neck", "head"};  // everything outside the unit; loading the unit stays strict
///     load_parameters(unit, SafetensorsFile("rtmpose.safetensors"), names);

namespace gated {

namespace detail {

/// Adds the rules for the gated attention unit at `ours`, called `theirs` in the file. Each path is empty or ends in a dot.
inline void add_rtmcc(NameMap& names, const char* ours, const char* theirs) {
  names.add(ours, theirs,
            {{"norm.gain", "ln.g"},
             {"projection.hidden", "uv"},
             {"offset_scale.weight", "gamma"},
             {"offset_scale.bias", "beta"},
             {"relative_bias.weight", "w"},
             {"proj_out", "o"},
             {"residual_scale", "res_scale.scale"}});
}

}  // namespace detail

/// Name map to load an RTMCCBlock with self-attention as GatedAttentionUnit.
inline NameMap rtmcc_names() {
  NameMap names{.origin = "mmpose"};
  detail::add_rtmcc(names, "", "");
  return names;
}

/// Name map to load an RTMCCHead as PoseHead. The file may hold the head or a whole model, whose other tensors are ignored.
inline NameMap rtmcc_head_names() {
  NameMap names{.origin = "mmpose", .body = "head.", .ignored = {"backbone", "neck"}};
  names.add("", "",
            {{"convolution", "final_layer"},
             {"norm.gain", "mlp.0.g"},
             {"proj_in", "mlp.1"},
             {"head_x", "cls_x"},
             {"head_y", "cls_y"}});
  detail::add_rtmcc(names, "unit.", "gau.");
  return names;
}

/// Name map to load an RTMCCBlock with cross-attention as GatedCrossAttention.
inline NameMap rtmcc_cross_names() {
  NameMap names{.origin = "mmpose"};
  names.add("", "",
            {{"norm.gain", "ln.g"},
             {"proj_in", "uv"},
             {"proj_key", "k_fc"},
             {"proj_value", "v_fc"},
             {"proj_out", "o"},
             {"residual_scale", "res_scale.scale"}});
  return names;
}

}  // namespace gated
