#pragma once

#include "gated/io/name_map.hpp"
#include "gated/layers/gmlp_block.hpp"

/// @file
/// Name map for checkpoints of labml's annotated gMLP (labml_nn.transformers.gmlp).

namespace gated {

/// The configuration of GMLPBlock(d_model, d_ffn, seq_len). As in labml, shorter inputs use a slice of the spatial weight.
inline GmlpConfig labml_block_config(Index d_model, Index d_ffn, Index seq_len) {
  return {.length = seq_len, .channels = d_model, .hidden = d_ffn, .length_policy = LengthPolicy::slice};
}

/// Name map to load GMLPBlock as GmlpBlock. The input rows here are sequence after sequence; labml's inputs are [tokens, batch,
/// d_model].
inline NameMap labml_block_names() {
  NameMap names{.origin = "labml"};
  names.add("", "",
            {{"proj_in", "proj1"},
             {"gate.norm", "sgu.norm"},
             {"gate.proj", "sgu", ShapeForm::drop_leading_one},
             {"proj_out", "proj2"}});
  return names;
}

}  // namespace gated
