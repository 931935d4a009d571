#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Checkpoints of mmpose's RTMCCBlock, the gated attention unit of RTMPose's heads. To load the unit from the file of a whole
/// model:
///
///     NameMap names = rtmcc_names();
///     names.prefix = "head.gau.";
///     names.ignored = {"backbone", "neck", "head"};  // everything outside the unit; loading the unit stays strict
///     load_parameters(unit, SafetensorsFile("rtmpose.safetensors"), names);

namespace gated {

/// Name map to load an RTMCCBlock with self-attention as GatedAttentionUnit.
inline NameMap rtmcc_names() {
  NameMap names{.origin = "mmpose"};
  names.add("", "",
            {{"norm.gain", "ln.g"},
             {"projection.hidden", "uv"},
             {"offset_scale.weight", "gamma"},
             {"offset_scale.bias", "beta"},
             {"relative_bias.weight", "w"},
             {"proj_out", "o"},
             {"residual_scale", "res_scale.scale"}});
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
