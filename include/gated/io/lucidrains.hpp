#pragma once

#include <string>
#include <string_view>

#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/models/gmlp.hpp"

/// @file
/// Name maps for checkpoints of lucidrains' g-mlp-pytorch (gMLP, gMLPVision, and their parts) and of its port Keyword-MLP.

namespace gated {

/// How a version of g-mlp-pytorch nests its blocks and shapes their spatial weights. The defaults are for 0.1.5 and later.
struct LucidrainsLayout {
  std::string block = "layers.*.fn.fn.fn.";  ///< path of the block in layer `*`
  std::string spatial = "";                  ///< path of the spatial weight in the gate: "" or "proj."
  ShapeForm weight = ShapeForm::same;
  ShapeForm bias = ShapeForm::same;
};

/// Detects the layout of a checkpoint from its tensor names, which begin with `prefix` (NameMap::prefix).
///
/// From 0.1.5 on, the block is wrapped in a token shift (`fn.fn.fn`); gMLPVision and earlier versions use `fn.fn`. Up to
/// 0.0.18, the spatial projection was a convolution `sgu.proj`; in 0.1.0 and 0.1.1, it was a weight [N, N] without heads.
/// Errors: FileError, naming the version, for files of versions before 0.0.16, whose gates contain the attention.
///
///     load_parameters(trunk, file, lucidrains_trunk_names(lucidrains_layout(file)));
inline LucidrainsLayout lucidrains_layout(const SafetensorsFile& file, std::string_view prefix = "") {
  const auto has = [&](std::string_view name) { return file.contains(text(prefix, name)); };
  for (const auto& [name, tensor] : file.tensors()) {
    require<FileError>(
        name.find("sgu.attn") == std::string::npos, file.name(), ": \"", printable(name),
        "\" is inside the gate: the file was written by g-mlp-pytorch before 0.0.16, where the attention read the "
        "activations after proj_in. That model is not supported.");
  }
  const std::string inner = has("layers.0.fn.fn.fn.proj_in.0.weight") ? "fn.fn.fn." : "fn.fn.";
  const std::string sgu = "layers.0." + inner + "sgu.";
  LucidrainsLayout layout{.block = "layers.*." + inner};
  if (!has(sgu + "weight") && has(sgu + "proj.weight")) {
    return {layout.block, "proj.", ShapeForm::pointwise_convolution, ShapeForm::drop_leading_one};
  }
  if (has(sgu + "bias") && file.tensor(text(prefix, sgu, "bias")).shape.size() == 1) {
    layout.weight = layout.bias = ShapeForm::drop_leading_one;
  }
  return layout;
}

namespace detail {

/// Adds the rules for the gate at `ours`, called `theirs` in the file. Here and below, each path is empty or ends in a dot.
inline void add_lucidrains_gate(NameMap& names, const std::string& ours, const std::string& theirs,
                                const LucidrainsLayout& layout) {
  names.add(ours, theirs, {{"norm", "norm"}, {"proj.position_x", "circulant_pos_x"}, {"proj.position_y", "circulant_pos_y"}});
  names.add(ours + "proj.", theirs + layout.spatial, {{"weight", "weight", layout.weight}, {"bias", "bias", layout.bias}});
}

/// Adds the rules for the block at `ours`.
inline void add_lucidrains_block(NameMap& names, const std::string& ours, const std::string& theirs,
                                 const LucidrainsLayout& layout) {
  names.add(ours, theirs,
            {{"proj_in", "proj_in.0"},
             {"attention.qkv", "attn.to_qkv"},
             {"attention.proj_out", "attn.to_out"},
             {"proj_out", "proj_out"}});
  add_lucidrains_gate(names, ours + "gate.", theirs + "sgu.", layout);
}

/// Adds the rules for the trunk at `ours`.
inline void add_lucidrains_trunk(NameMap& names, const std::string& ours, const LucidrainsLayout& layout) {
  add_lucidrains_block(names, ours + "blocks.*.", layout.block, layout);
  names.add(ours, "", {{"blocks.*.norm", "layers.*.fn.norm"}});
  if (layout.weight == ShapeForm::drop_leading_one) {
    names.ignored.push_back(layout.block + "sgu.proj");  // an unused convolution in 0.1.0 and 0.1.1
  }
}

}  // namespace detail

/// Name map to load a checkpoint of lucidrains' SpatialGatingUnit as our SpatialGatingUnit.
inline NameMap lucidrains_gate_names() {
  NameMap names{.origin = "g-mlp-pytorch"};
  detail::add_lucidrains_gate(names, "", "", {});
  return names;
}

/// Name map to load a checkpoint of a gMLPBlock as a GmlpBlock without norm. GmlpBlock adds its input to the result; upstream's
/// block does not. For upstream's result, write a layer like BareBlock in examples/check_parity.
inline NameMap lucidrains_block_names() {
  NameMap names{.origin = "g-mlp-pytorch"};
  detail::add_lucidrains_block(names, "", "", {});
  return names;
}

/// Name map to load a checkpoint of lucidrains' Attention as TinyAttention.
inline NameMap lucidrains_attention_names() {
  NameMap names{.origin = "g-mlp-pytorch"};
  names.add("", "", {{"qkv", "to_qkv"}, {"proj_out", "to_out"}});
  return names;
}

/// Name map to load a gMLP without `num_tokens` (features in, features out) as Gmlp.
inline NameMap lucidrains_trunk_names(const LucidrainsLayout& layout = {}) {
  NameMap names{.origin = "g-mlp-pytorch"};
  detail::add_lucidrains_trunk(names, "", layout);
  return names;
}

/// Name map to load a gMLP with `num_tokens` as GmlpLanguageModel with `.head = {.form = HeadForm::untied, .bias = true}`.
inline NameMap lucidrains_language_model_names(const LucidrainsLayout& layout = {}) {
  NameMap names{.origin = "g-mlp-pytorch"};
  names.add("", "", {{"embedding", "to_embed"}, {"head.norm", "to_logits.0"}, {"head.output", "to_logits.1"}});
  detail::add_lucidrains_trunk(names, "trunk.", layout);
  return names;
}

/// Name map to load gMLPVision as GmlpImageClassifier.
inline NameMap lucidrains_vision_names(const LucidrainsLayout& layout = {.block = "layers.*.fn.fn."}) {
  NameMap names{.origin = "g-mlp-pytorch"};
  names.add(
      "", "",
      {{"patch_embedding", "to_patch_embed.1", ShapeForm::flatten_tail}, {"norm", "to_logits.0"}, {"head", "to_logits.2"}});
  detail::add_lucidrains_trunk(names, "trunk.", layout);
  return names;
}

/// Name map to load KW_MLP of Keyword-MLP as GmlpImageClassifier with kw_mlp(). Its tensors are named as in gMLPVision 0.0.18.
inline NameMap kw_mlp_names() {
  NameMap names = lucidrains_vision_names({.block = "layers.*.fn.fn.",
                                           .spatial = "proj.",
                                           .weight = ShapeForm::pointwise_convolution,
                                           .bias = ShapeForm::drop_leading_one});
  names.origin = "Keyword-MLP";
  return names;
}

}  // namespace gated
