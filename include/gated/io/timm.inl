#pragma once

#include <string>
#include <string_view>

#include "gated/io/glu_names.hpp"
#include "gated/io/timm.hpp"

namespace gated {

GATED_INLINE NameMap timm_names() {
  NameMap names{.origin = "timm"};
  names.add("", "",
            {{"patch_embedding", "stem.proj"},
             {"stem_norm", "stem.norm"},
             {"trunk.blocks.*.norm", "blocks.*.norm"},
             {"trunk.blocks.*.proj_in", "blocks.*.mlp_channels.fc1"},
             {"trunk.blocks.*.gate.norm", "blocks.*.mlp_channels.gate.norm"},
             {"trunk.blocks.*.gate.proj", "blocks.*.mlp_channels.gate.proj", ShapeForm::drop_leading_one},
             {"trunk.blocks.*.proj_out", "blocks.*.mlp_channels.fc2"}});
  return names;
}

GATED_INLINE NameMap timm_mixer_names() {
  NameMap names{.origin = "timm"};
  names.add("", "",
            {{"patch_embedding", "stem.proj"},
             {"stem_norm", "stem.norm"},
             {"trunk.blocks.*.tokens.norm", "blocks.*.norm1"},
             {"trunk.blocks.*.tokens.mixer.proj_in", "blocks.*.mlp_tokens.fc1", ShapeForm::drop_leading_one},
             {"trunk.blocks.*.tokens.mixer.proj_out", "blocks.*.mlp_tokens.fc2", ShapeForm::drop_leading_one},
             {"trunk.blocks.*.channels.norm", "blocks.*.norm2"},
             {"trunk.blocks.*.channels.mixer.proj_in", "blocks.*.mlp_channels.fc1"},
             {"trunk.blocks.*.channels.mixer.proj_out", "blocks.*.mlp_channels.fc2"}});
  return names;
}

GATED_INLINE NameMap timm_gmixer_names() {
  NameMap names{.origin = "timm"};
  names.add("", "",
            {{"patch_embedding", "stem.proj"},
             {"stem_norm", "stem.norm"},
             {"trunk.blocks.*.tokens.norm", "blocks.*.norm1"},
             {"trunk.blocks.*.channels.norm", "blocks.*.norm2"}});
  names.add("trunk.blocks.*.tokens.mixer.", "blocks.*.mlp_tokens.",
            packed_glu_rules(GluLayout::gate_last, ShapeForm::drop_leading_one));
  names.add("trunk.blocks.*.channels.mixer.", "blocks.*.mlp_channels.", packed_glu_rules(GluLayout::gate_last));
  return names;
}

namespace detail {

/// The component names of ResMLP, which differ between timm and the code of ResMLP's authors.
struct ResmlpWords {
  const char *origin, *stem, *tokens, *channels, *scale;
  ShapeForm norm;  ///< how the file stores α and β of the norms
};

inline NameMap resmlp_names(const ResmlpWords& words) {
  NameMap names{.origin = words.origin};
  const auto norm = [&](std::string_view ours, std::string_view theirs) {
    names.add(ours, theirs, {{"weight", "alpha", words.norm}, {"bias", "beta", words.norm}});
  };
  const std::string block = "blocks.*.";
  norm("stem_norm.", text(words.stem, ".norm."));
  norm("trunk.blocks.*.tokens.norm.", "blocks.*.norm1.");
  norm("trunk.blocks.*.channels.norm.", "blocks.*.norm2.");
  norm("norm.", "norm.");
  names.add("", words.stem, {{"patch_embedding", ".proj"}});
  names.add("trunk.blocks.*.tokens.mixer.", block + words.tokens, {{"proj", "", ShapeForm::drop_leading_one}});
  names.add("trunk.blocks.*.", block + words.scale, {{"tokens.scale", "1"}, {"channels.scale", "2"}});
  names.add("trunk.blocks.*.channels.mixer.", block + words.channels, {{"proj_in", ".fc1"}, {"proj_out", ".fc2"}});
  return names;
}

}  // namespace detail

GATED_INLINE NameMap timm_resmlp_names() {
  return detail::resmlp_names({.origin = "timm",
                               .stem = "stem",
                               .tokens = "linear_tokens",
                               .channels = "mlp_channels",
                               .scale = "ls",
                               .norm = ShapeForm::prepend_two_ones});
}

GATED_INLINE NameMap facebook_resmlp_names() {
  return detail::resmlp_names({.origin = "Facebook",
                               .stem = "patch_embed",
                               .tokens = "attn",
                               .channels = "mlp",
                               .scale = "gamma_",
                               .norm = ShapeForm::same});
}

}  // namespace gated
