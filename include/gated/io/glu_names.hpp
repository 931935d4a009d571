#pragma once

#include "gated/core/words.hpp"
#include "gated/io/name_map.hpp"

/// @file
/// Name maps for gated feed-forward layers.

namespace gated {

/// The order of the gate and up projections in a packed tensor. Checkpoints do not record the order.
enum class GluLayout {
  gate_first,  ///< timm's SwiGLUPacked, and GluMlp with gate_last = False
  gate_last    ///< timm's GluMlp
};

constexpr auto names_of(GluLayout) { return words_for<GluLayout>("gate_first", "gate_last"); }

/// The rules for a gated feed-forward layer with gate and up projection packed into one tensor: timm's GluMlp and SwiGLUPacked.
inline std::vector<NameMap::Rule> packed_glu_rules(GluLayout layout, ShapeForm form = ShapeForm::same) {
  const Index gate = layout == GluLayout::gate_first ? 0 : 1;
  return {{.ours = "gate", .theirs = "fc1", .form = form, .part = gate, .parts = 2},
          {.ours = "up", .theirs = "fc1", .form = form, .part = 1 - gate, .parts = 2},
          {.ours = "proj_out", .theirs = "fc2", .form = form}};
}

/// Name map to load timm's GluMlp or SwiGLUPacked as GluFeedForward.
inline NameMap timm_packed_glu_names(GluLayout layout) { return {.origin = "timm", .rules = packed_glu_rules(layout)}; }

/// Name map to load timm's SwiGLU as GluFeedForward.
inline NameMap timm_swiglu_names() {
  NameMap names{.origin = "timm"};
  names.add("", "", {{"gate", "fc1_g"}, {"up", "fc1_x"}, {"proj_out", "fc2"}});
  return names;
}

/// Name map to load Hugging Face's LlamaMLP, or an identical class such as MistralMLP, as GluFeedForward.
inline NameMap llama_mlp_names() {
  NameMap names{.origin = "Hugging Face"};
  names.add("", "", {{"gate", "gate_proj"}, {"up", "up_proj"}, {"proj_out", "down_proj"}});
  return names;
}

}  // namespace gated
