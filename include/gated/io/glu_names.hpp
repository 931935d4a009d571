#pragma once

#include "gated/core/words.hpp"
#include "gated/io/name_map.hpp"

/// @file
/// What files of others call the parameters of a gated feed-forward.

namespace gated {

/// How a file holds the gate and what it multiplies where they are one tensor. The file does not say it.
enum class GluLayout {
  gate_first,  ///< timm's SwiGLUPacked, and GluMlp with gate_last = False
  gate_last    ///< timm's GluMlp
};

constexpr auto names_of(GluLayout) { return words_for<GluLayout>("gate_first", "gate_last"); }

/// The rules for one gated feed-forward whose two first projections are one tensor: timm's GluMlp and SwiGLUPacked.
inline std::vector<NameMap::Rule> packed_glu_rules(GluLayout layout, ShapeForm form = ShapeForm::same) {
  const Index gate = layout == GluLayout::gate_first ? 0 : 1;
  return {{.ours = "gate", .theirs = "fc1", .form = form, .part = gate, .parts = 2},
          {.ours = "up", .theirs = "fc1", .form = form, .part = 1 - gate, .parts = 2},
          {.ours = "proj_out", .theirs = "fc2", .form = form}};
}

/// The names of GluFeedForward's parameters in a file of timm's GluMlp or SwiGLUPacked.
inline NameMap timm_packed_glu_names(GluLayout layout) { return {.origin = "timm", .rules = packed_glu_rules(layout)}; }

/// The same for timm's SwiGLU.
inline NameMap timm_swiglu_names() {
  NameMap names{.origin = "timm"};
  names.add("", "", {{"gate", "fc1_g"}, {"up", "fc1_x"}, {"proj_out", "fc2"}});
  return names;
}

/// The same for Hugging Face's LlamaMLP and its many kin.
inline NameMap llama_mlp_names() {
  NameMap names{.origin = "Hugging Face"};
  names.add("", "", {{"gate", "gate_proj"}, {"up", "up_proj"}, {"proj_out", "down_proj"}});
  return names;
}

}  // namespace gated
