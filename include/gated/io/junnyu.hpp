#pragma once

#include "gated/io/lucidrains_flash.hpp"

/// @file
/// Checkpoints of JunnYu's ports: FLASHQuad_pytorch (FLASH-Quad and FLASH) and GAU-alpha-pytorch.

namespace gated {

namespace detail {

inline void add_flash_quad_layer(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.rules.push_back({ours + "norm.gain", theirs + "LayerNorm.scala"});
  names.rules.push_back({ours + "norm", theirs + "LayerNorm"});
  names.rules.push_back({ours + "projection.hidden", theirs + "uv"});
  names.rules.push_back({ours + "offset_scale.weight", theirs + "weight"});
  names.rules.push_back({ours + "offset_scale.bias", theirs + "bias"});
  names.rules.push_back({ours + "relative_bias.weight", theirs + "w"});
  names.rules.push_back({ours + "proj_out", theirs + "o"});
  names.ignored.push_back(theirs + "a");  // of the form for more than 512 positions, which the original cannot run
  names.ignored.push_back(theirs + "b");
}

inline void add_gau_alpha_layer(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.rules.push_back({ours + "projection.hidden", theirs + "gau.i_dense"});
  for (const char* part : {"weight", "bias"}) {
    names.rules.push_back({ours + "offset_scale." + part,
                           theirs + "gau.q_scaleoffset." + part,
                           ShapeForm::same,
                           {theirs + "gau.k_scaleoffset." + part}});
  }
  names.rules.push_back({ours + "proj_out", theirs + "gau.o_dense"});
}

}  // namespace detail

/// FLASHQuad's GAU as GatedAttentionUnit.
inline NameMap flash_quad_gau_names() {
  NameMap names{.origin = "FLASHQuad_pytorch"};
  detail::add_flash_quad_layer(names, "", "");
  return names;
}

/// FLASHQuadModel as GauEncoder; with `masked_language_model`, FLASHQuadForMaskedLM.
inline NameMap flash_quad_names(bool masked_language_model = false) {
  const std::string body = masked_language_model ? "flash_quad." : "";
  NameMap names{.origin = "FLASHQuad_pytorch",
                .rules = {{"embedding", body + "embeddings.word_embeddings"},
                          {"type_embedding", body + "embeddings.token_type_embeddings"},
                          {"position.scale", body + "embeddings.scaledsin_scalar"},
                          {"position.table", body + "embeddings.scaledsin_embeddings"},
                          {"embedding_norm.gain", body + "embeddings.LayerNorm.scala"},
                          {"embedding_norm", body + "embeddings.LayerNorm"},
                          {"head.dense", "cls.predictions.transform.dense"},
                          {"head.norm.gain", "cls.predictions.transform.LayerNorm.scala"},
                          {"head.norm", "cls.predictions.transform.LayerNorm"},
                          {"head.bias", "cls.predictions.bias"}},
                .tied = {{"cls.predictions.decoder.weight", body + "embeddings.word_embeddings.weight"},
                         {"cls.predictions.decoder.bias", "cls.predictions.bias"}},
                .ignored = {body + "embeddings.position_ids"}};
  detail::add_flash_quad_layer(names, "layers.*.", body + "encoder.layer.*.");
  return names;
}

/// JunnYu's FLASHModel as FlashLanguageModel without head; with `masked_language_model`, FLASHForMaskedLM.
inline NameMap junnyu_flash_names(bool masked_language_model = false) {
  const std::string body = masked_language_model ? "flash." : "";
  NameMap names{.origin = "FLASHQuad_pytorch",
                .rules = {{"embedding", body + "embeddings.word_embeddings"},
                          {"position.scale", body + "embeddings.scale"},
                          {"head.norm", "cls.predictions.LayerNorm"},
                          {"head.bias", "cls.predictions.decoder.bias"}},
                .tied = {{"cls.predictions.decoder.weight", body + "embeddings.word_embeddings.weight"},
                         {"cls.predictions.bias", "cls.predictions.decoder.bias"}},
                .ignored = {body + "embeddings.position_ids"}};
  detail::add_lucidrains_flash(names, "trunk.layers.*.", body + "encoder.layers.*.", true);
  return names;
}

/// GAU-alpha's GAULayer as GatedAttentionUnit.
inline NameMap gau_alpha_layer_names() {
  NameMap names{.origin = "GAU-alpha-pytorch"};
  detail::add_gau_alpha_layer(names, "", "");
  return names;
}

/// GAUAlphaModel as GauEncoder; with `masked_language_model`, GAUAlphaForMaskedLM.
inline NameMap gau_alpha_names(bool masked_language_model = false) {
  const std::string body = masked_language_model ? "gau_alpha." : "";
  NameMap names{.origin = "GAU-alpha-pytorch",
                .rules = {{"embedding", body + "embeddings.word_embeddings"},
                          {"type_embedding", body + "embeddings.token_type_embeddings"}},
                .tied = {{"cls.predictions.decoder.weight", body + "embeddings.word_embeddings.weight"}},
                .ignored = {body + "embeddings.position_ids"}};
  detail::add_gau_alpha_layer(names, "layers.*.", body + "encoder.layer.*.");
  return names;
}

}  // namespace gated
