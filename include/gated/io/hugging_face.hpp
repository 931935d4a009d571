#pragma once

#include "gated/io/name_map.hpp"

/// @file
/// Name maps for FNet checkpoints of Hugging Face's transformers.

namespace gated {

namespace detail {

inline void add_fnet_blocks(NameMap& names, const std::string& ours, const std::string& theirs) {
  names.add(ours, theirs,
            {{"tokens.norm", "fourier.output.LayerNorm"},
             {"channels.mixer.proj_in", "intermediate.dense"},
             {"channels.mixer.proj_out", "output.dense"},
             {"channels.norm", "output.LayerNorm"}});
}

}  // namespace detail

/// Name map to load transformers' FNetEncoder as gated's FnetEncoder.
inline NameMap fnet_encoder_names() {
  NameMap names{.origin = "transformers"};
  detail::add_fnet_blocks(names, "blocks.*.", "layer.*.");
  return names;
}

/// Name map to load transformers' FNetModel, FNetForMaskedLM or FNetForPreTraining as gated's Fnet with the matching FnetHead.
inline NameMap fnet_names() {
  NameMap names{.origin = "transformers",
                .body = "fnet.",
                .heads = {"cls."},
                .tied = {{"cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"},
                         {"cls.predictions.decoder.bias", "cls.predictions.bias"}},
                .ignored = {"embeddings.position_ids"}};
  names.add("", "",
            {{"embedding", "embeddings.word_embeddings"},
             {"type_embedding", "embeddings.token_type_embeddings"},
             {"position_table", "embeddings.position_embeddings"},
             {"embedding_norm", "embeddings.LayerNorm"},
             {"embedding_projection", "embeddings.projection"},
             {"pooler", "pooler.dense"},
             {"head.dense", "cls.predictions.transform.dense"},
             {"head.norm", "cls.predictions.transform.LayerNorm"},
             {"head.bias", "cls.predictions.bias"},
             {"classifier", "cls.seq_relationship"}});
  detail::add_fnet_blocks(names, "trunk.blocks.*.", "encoder.layer.*.");
  return names;
}

}  // namespace gated
