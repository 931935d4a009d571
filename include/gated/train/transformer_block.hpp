#pragma once

#include "gated/layers/transformer_block.hpp"
#include "gated/train/mixed_chunk.hpp"
#include "gated/train/norm.hpp"
#include "gated/train/offset_scale.hpp"
#include "gated/train/residual.hpp"

/// @file
/// Training of the standard Transformer block.

namespace gated {

/// TransformerBlock::forward() with attention dropout on the weights and residual dropout on both branches. Errors: as
/// forward(). Cost: twice the forward's projections and 2.5 times its attention on the way back.
template <class T>
Variable record(Tape<T>& tape, const TransformerBlock<T>& layer, Variable x, const Sequences& sequences) {
  layer.check(tape[x], sequences);
  const Index channels = layer.config.channels, heads = layer.config.heads, kept = tape.keep(sequences);
  const Variable z = record<T>(tape.at("attention_norm"), layer.attention_norm, x);
  const Variable qkv = record<T>(tape.at("qkv"), layer.qkv, z);
  const Variable q = tape.columns(qkv, 0, channels), k = tape.columns(qkv, channels, channels);
  const Variable v = tape.columns(qkv, 2 * channels, channels);
  Variable attended;
  if (layer.config.attention == TransformerAttention::mixed_chunk) {
    const ChunkInputs<T> inputs{.local_q = q,
                                .local_k = k,
                                .global_q = record<T>(tape.at("global_qk"), layer.global_qk, 0, q),
                                .global_k = record<T>(tape.at("global_qk"), layer.global_qk, 1, k),
                                .values = v,
                                .sequences = kept,
                                .heads = heads};
    attended = mix_chunks(tape, inputs, [&layer](Index) { return layer.mixing(); });
  } else {
    const AttentionInputs<T> inputs{.q = q, .k = k, .v = v, .queries = kept, .keys = kept, .heads = heads};
    attended = attend(tape, inputs, [&layer](Index) { return layer.scoring(); });
  }
  const double rate = tape.options().residual_dropout;
  const Variable mixed = record<T>(tape.at("proj_out"), layer.proj_out, attended);
  const Variable h = add(tape, dropout(tape, mixed, rate), x);

  const Variable normalised = record<T>(tape.at("feed_forward_norm"), layer.feed_forward_norm, h);
  const Variable hidden = record<T>(tape.at("feed_forward_in"), layer.feed_forward_in, normalised);
  const Variable active = activate(tape, hidden, layer.config.activation);
  const Variable fed = record<T>(tape.at("feed_forward_out"), layer.feed_forward_out, active);
  return add(tape, dropout(tape, fed, rate), h);
}

}  // namespace gated
