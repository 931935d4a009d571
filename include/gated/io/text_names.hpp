#pragma once

#include "gated/core/count.hpp"
#include "gated/io/name_map.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/models/text_transformer.hpp"

/// @file
/// Name maps for Hugging Face's Llama, Mistral, Qwen2, Qwen3 and ModernBERT, and for gated attention (arXiv:2505.06708).

namespace gated {

/// The numbers of rows in Llama's query, key and value tensors, for H query heads of width a and G key and value heads.
struct LlamaLayout {
  Index queries = 0;     ///< H·a
  Index keys = 0;        ///< G·a, in each of the key and value tensors
  Index groups = 1;      ///< G
  Index gates = 0;       ///< gate rows of all heads, part of the query tensor: H, H·a or 0
  bool is_tied = true;   ///< the embedding may also be stored as lm_head.weight
  bool has_head = true;  ///< false: a head in the file is ignored, as transformers does

  static LlamaLayout of(const SelfAttentionConfig& c) {
    const Index queries = (Count(c.heads) * c.width()).value();
    return {.queries = queries,
            .keys = (Count(c.key_heads()) * c.width()).value(),
            .groups = c.key_heads(),
            .gates = c.gate == AttentionGate::none       ? 0
                     : c.gate == AttentionGate::per_head ? c.heads
                                                         : queries};
  }
};

/// The layout for a model with this configuration.
inline LlamaLayout llama_layout(const TextTransformerConfig& config) {
  LlamaLayout layout = LlamaLayout::of(config.trunk.block.sized_token_mixer());
  layout.is_tied = config.head.form == HeadForm::tied;
  layout.has_head = config.head.form != HeadForm::none;
  return layout;
}

/// Detects the layout of the model whose tensor names begin with `prefix` (NameMap::prefix), with or without a head. Detects
/// gates only in files with query norms, because it reads the head width from these norms.
inline LlamaLayout llama_layout(const SafetensorsFile& file, std::string_view prefix = "") {
  const auto size = [&](std::string_view name, std::size_t axis) {
    auto found = file.tensors().find(text(prefix, "model.layers.0.self_attn.", name, ".weight"));
    found = found == file.tensors().end() ? file.tensors().find(text(prefix, "layers.0.self_attn.", name, ".weight")) : found;
    return found == file.tensors().end() || found->second.shape.size() <= axis || found->second.count() == 0
               ? Index{0}
               : found->second.shape[axis];
  };
  LlamaLayout layout{.queries = size("q_proj", 0), .keys = size("k_proj", 0)};
  const Index outputs = size("o_proj", 1), width = size("q_norm", 0);
  if (outputs < layout.queries && width > 0) {
    layout.groups = layout.keys / width;
    layout.gates = layout.queries - outputs;
    layout.queries = outputs;
  }
  return layout;
}

namespace detail {

/// Adds the rules for Llama's attention, which has a query, a key and a value tensor. Gates are part of the query tensor: for
/// each group of heads, its queries come first, then its gates.
inline void add_llama_attention(NameMap& names, const std::string& ours, const std::string& theirs, const LlamaLayout& layout) {
  constexpr Index most = 1 << 16;
  require<FileError>(layout.groups <= most, "text_names: the layout has ", layout.groups, " groups of heads, expected at most ",
                     most, ".");
  std::vector<NameMap::Piece> qkv, gate;
  if (layout.gates == 0) {
    qkv.push_back({"q_proj", layout.queries});
  }
  for (Index group = 0; group < layout.groups && layout.gates > 0; ++group) {
    const Index queries = layout.queries / layout.groups, gates = layout.gates / layout.groups;
    const Index first = group * (queries + gates), rows = layout.queries + layout.gates;
    qkv.push_back({"q_proj", queries, first, rows});
    gate.push_back({"q_proj", gates, first + queries, rows});
  }
  qkv.insert(qkv.end(), {{"k_proj", layout.keys}, {"v_proj", layout.keys}});
  names.add(
      ours, theirs,
      std::vector<NameMap::Rule>{{.ours = "qkv", .theirs = "", .pieces = qkv}, {.ours = "gate", .theirs = "", .pieces = gate}});
  names.add(ours, theirs, {{"query_norm", "q_norm"}, {"key_norm", "k_norm"}, {"proj_out", "o_proj"}});
}

}  // namespace detail

/// Name map to load the attention of a Llama, Qwen3 or gated attention model as SelfAttention.
inline NameMap llama_attention_names(const SelfAttentionConfig& config) {
  NameMap names{.origin = "transformers"};
  detail::add_llama_attention(names, "", "", LlamaLayout::of(config));
  return names;
}

/// Name map to load a Llama, Mistral, Qwen2, Qwen3 or gated attention model, with or without a head, as TextTransformer.
inline NameMap llama_names(const LlamaLayout& layout) {
  NameMap names{
      .origin = "transformers", .body = "model.", .heads = {"lm_head."}, .ignored = {"layers.*.self_attn.rotary_emb.inv_freq"}};
  if (!layout.has_head) {
    names.ignored.push_back("lm_head.weight");
  }
  if (layout.is_tied) {
    names.tied = {{"lm_head.weight", "embed_tokens.weight"}};
  }
  names.add("", "", {{"embedding", "embed_tokens"}, {"final_norm", "norm"}, {"head.output", "lm_head"}});
  detail::add_llama_attention(names, "trunk.blocks.*.tokens.mixer.", "layers.*.self_attn.", layout);
  names.add("trunk.blocks.*.", "layers.*.",
            {{"tokens.norm", "input_layernorm"},
             {"channels.norm", "post_attention_layernorm"},
             {"channels.mixer.gate", "mlp.gate_proj"},
             {"channels.mixer.up", "mlp.up_proj"},
             {"channels.mixer.proj_out", "mlp.down_proj"}});
  return names;
}

/// Overload for a model with this configuration.
inline NameMap llama_names(const TextTransformerConfig& config) { return llama_names(llama_layout(config)); }

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

/// Overload for a model with this configuration. Without a head, it ignores a head in the file, as transformers does.
inline NameMap modernbert_names(const TextTransformerConfig& config) {
  NameMap names = modernbert_names();
  if (config.head.form == HeadForm::none && !config.pooler && config.classes == 0) {
    names.ignored = {"head", "decoder", "classifier"};
  }
  return names;
}

/// Name map to load a published model with this configuration: modernbert_names() for encoders, llama_names() for decoders.
inline NameMap text_names(const TextTransformerConfig& config) {
  return config.trunk.block.token_mixer.causal ? llama_names(config) : modernbert_names(config);
}

}  // namespace gated
