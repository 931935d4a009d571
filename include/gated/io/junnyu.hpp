#pragma once

#include "gated/io/lucidrains_flash.hpp"

/// @file
/// Name maps for checkpoints of FLASHQuad_pytorch (FLASH-Quad and FLASH) and GAU-alpha-pytorch (github.com/JunnYu). The map of
/// a model also loads checkpoints with a masked-LM head, which prefix the model's tensor names (NameMap::body).

namespace gated {

namespace detail {

inline void add_flash_quad_layer(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(ours, theirs,
            {{"norm.gain", "LayerNorm.scala"},
             {"norm", "LayerNorm"},
             {"projection.hidden", "uv"},
             {"offset_scale.weight", "weight"},
             {"offset_scale.bias", "bias"},
             {"relative_bias.weight", "w"},
             {"proj_out", "o"}});
  names.ignored.push_back(theirs + "a");  // unused up to 512 positions, the original's limit
  names.ignored.push_back(theirs + "b");
}

inline void add_gau_alpha_layer(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(ours, theirs + "gau.",
            {{"projection.hidden", "i_dense"},
             {"offset_scale.weight", "q_scaleoffset.weight", ShapeForm::same, {"k_scaleoffset.weight"}},
             {"offset_scale.bias", "q_scaleoffset.bias", ShapeForm::same, {"k_scaleoffset.bias"}},
             {"proj_out", "o_dense"}});
}

}  // namespace detail

/// Name map to load FLASHQuad's GAU as GatedAttentionUnit.
inline NameMap flash_quad_gau_names() {
  NameMap names{.origin = "FLASHQuad_pytorch"};
  detail::add_flash_quad_layer(names, "", "");
  return names;
}

/// Name map to load FLASHQuadModel or FLASHQuadForMaskedLM as GauEncoder.
inline NameMap flash_quad_names() {
  NameMap names{.origin = "FLASHQuad_pytorch",
                .body = "flash_quad.",
                .heads = {"cls."},
                .tied = {{"cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"},
                         {"cls.predictions.decoder.bias", "cls.predictions.bias"}},
                .ignored = {"embeddings.position_ids"}};
  names.add("", "",
            {{"embedding", "embeddings.word_embeddings"},
             {"type_embedding", "embeddings.token_type_embeddings"},
             {"position.scale", "embeddings.scaledsin_scalar"},
             {"position.table", "embeddings.scaledsin_embeddings"},
             {"embedding_norm.gain", "embeddings.LayerNorm.scala"},
             {"embedding_norm", "embeddings.LayerNorm"},
             {"head.dense", "cls.predictions.transform.dense"},
             {"head.norm.gain", "cls.predictions.transform.LayerNorm.scala"},
             {"head.norm", "cls.predictions.transform.LayerNorm"},
             {"head.bias", "cls.predictions.bias"}});
  detail::add_flash_quad_layer(names, "trunk.blocks.*.", "encoder.layer.*.");
  return names;
}

/// Name map to load JunnYu's FLASHModel or FLASHForMaskedLM as FlashLanguageModel with `.position = PositionForm::sinusoid`.
/// FLASHModel needs `.head = {.form = HeadForm::none}`, FLASHForMaskedLM needs `.head = {.bias = true}`.
inline NameMap junnyu_flash_names() {
  NameMap names{.origin = "FLASHQuad_pytorch",
                .body = "flash.",
                .heads = {"cls."},
                .tied = {{"cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"},
                         {"cls.predictions.bias", "cls.predictions.decoder.bias"}},
                .ignored = {"embeddings.position_ids"}};
  names.add("", "",
            {{"embedding", "embeddings.word_embeddings"},
             {"position.scale", "embeddings.scale"},
             {"head.norm", "cls.predictions.LayerNorm"},
             {"head.bias", "cls.predictions.decoder.bias"}});
  detail::add_lucidrains_flash(names, "trunk.blocks.*.", "encoder.layers.*.", detail::OffsetScaleNames::weight_and_bias);
  return names;
}

/// Name map to load GAU-alpha's GAULayer as GatedAttentionUnit.
inline NameMap gau_alpha_layer_names() {
  NameMap names{.origin = "GAU-alpha-pytorch"};
  detail::add_gau_alpha_layer(names, "", "");
  return names;
}

/// Name map to load GAUAlphaModel or GAUAlphaForMaskedLM as GauEncoder. Saved files always have GAUAlphaModel's names, because
/// the head has no parameters.
inline NameMap gau_alpha_names() {
  NameMap names{.origin = "GAU-alpha-pytorch",
                .body = "gau_alpha.",
                .heads = {"cls."},
                .tied = {{"cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"}},
                .ignored = {"embeddings.position_ids"}};
  names.add("", "", {{"embedding", "embeddings.word_embeddings"}, {"type_embedding", "embeddings.token_type_embeddings"}});
  detail::add_gau_alpha_layer(names, "trunk.blocks.*.", "encoder.layer.*.");
  return names;
}

}  // namespace gated
