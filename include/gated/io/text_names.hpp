#pragma once

#include "gated/io/name_map.hpp"
#include "gated/models/text_transformer.hpp"

/// @file
/// Names in checkpoints of text transformers: Hugging Face's Llama, Mistral, Qwen2, Qwen3 and ModernBERT, and gated attention.

namespace gated {

namespace detail {

/// Llama's attention, whose queries, keys and values are three tensors. A gate is part of the queries' tensor, one group of
/// heads after the other: its queries, then its gates.
inline void add_llama_attention(NameMap& names, const std::string& ours, const std::string& theirs,
                                const SelfAttentionConfig& c) {
  using Piece = NameMap::Piece;
  const Index groups = c.key_heads(), share = c.heads / groups, queries = share * c.width(), keys = groups * c.width();
  const Index gates = c.gate == AttentionGate::none ? 0 : c.gate == AttentionGate::per_head ? share : queries;
  std::vector<Piece> qkv, gate;
  if (gates == 0) {
    qkv.push_back({"q_proj", c.heads * c.width()});
  }
  for (Index group = 0; group < groups && gates > 0; ++group) {
    const Index first = group * (queries + gates), rows = groups * (queries + gates);
    qkv.push_back({"q_proj", queries, first, rows});
    gate.push_back({"q_proj", gates, first + queries, rows});
  }
  qkv.insert(qkv.end(), {{"k_proj", keys}, {"v_proj", keys}});
  names.add(
      ours, theirs,
      std::vector<NameMap::Rule>{{.ours = "qkv", .theirs = "", .pieces = qkv}, {.ours = "gate", .theirs = "", .pieces = gate}});
  names.add(ours, theirs, {{"query_norm", "q_norm"}, {"key_norm", "k_norm"}, {"proj_out", "o_proj"}});
}

}  // namespace detail

/// Name map to load the attention of Llama, Qwen3 or gated attention as SelfAttention.
inline NameMap llama_attention_names(const SelfAttentionConfig& config) {
  NameMap names{.origin = "transformers"};
  detail::add_llama_attention(names, "", "", config);
  return names;
}

/// Name map to load a Llama, Mistral, Qwen2, Qwen3 or gated attention model, with or without a head, as TextTransformer.
inline NameMap llama_names(const TextTransformerConfig& config) {
  NameMap names{
      .origin = "transformers", .body = "model.", .heads = {"lm_head."}, .ignored = {"layers.*.self_attn.rotary_emb.inv_freq"}};
  if (config.head.form != HeadForm::untied) {
    names.tied = {{"lm_head.weight", "embed_tokens.weight"}};
  }
  names.add("", "", {{"embedding", "embed_tokens"}, {"final_norm", "norm"}, {"head.output", "lm_head"}});
  SelfAttentionConfig attention = config.trunk.block.token_mixer;
  attention.channels = config.trunk.block.channels;
  detail::add_llama_attention(names, "trunk.blocks.*.tokens.mixer.", "layers.*.self_attn.", attention);
  names.add("trunk.blocks.*.", "layers.*.",
            {{"tokens.norm", "input_layernorm"},
             {"channels.norm", "post_attention_layernorm"},
             {"channels.mixer.gate", "mlp.gate_proj"},
             {"channels.mixer.up", "mlp.up_proj"},
             {"channels.mixer.proj_out", "mlp.down_proj"}});
  return names;
}

/// Name map to load ModernBertModel, ModernBertForMaskedLM or ModernBertForSequenceClassification as TextTransformer.
inline NameMap modernbert_names() {
  NameMap names{.origin = "transformers",
                .body = "model.",
                .heads = {"head.", "decoder.", "classifier."},
                .tied = {{"decoder.weight", "embeddings.tok_embeddings.weight"}}};
  names.add("", "",
            {{"embedding", "embeddings.tok_embeddings"},
             {"embedding_norm", "embeddings.norm"},
             {"head.dense", "head.dense"},
             {"head.norm", "head.norm"},
             {"head.output", "decoder"},
             {"head.bias", "decoder.bias"},
             {"pooler_norm", "head.norm"},
             {"pooler", "head.dense"}});
  names.add("trunk.blocks.*.", "layers.*.",
            {{"tokens.norm", "attn_norm"},
             {"tokens.mixer.qkv", "attn.Wqkv"},
             {"tokens.mixer.proj_out", "attn.Wo"},
             {"channels.norm", "mlp_norm"},
             {"channels.mixer.gate", "mlp.Wi", ShapeForm::same, {}, false, 0, 2},
             {"channels.mixer.up", "mlp.Wi", ShapeForm::same, {}, false, 1, 2},
             {"channels.mixer.proj_out", "mlp.Wo"}});
  return names;
}

}  // namespace gated
