#pragma once

#include "gated/layers/tiny_attention.hpp"
#include "gated/train/attention.hpp"
#include "gated/train/linear.hpp"

/// @file
/// Training of aMLP's tiny attention.

namespace gated {

/// y = softmax(q kᵀ / √a) v W_out + b with (q, k, v) = x W_qkv. Errors: as TinyAttention::forward(). Cost: see attend_back().
template <class T>
Variable record(Tape<T>& tape, const TinyAttention<T>& layer, Variable x, const Sequences& sequences) {
  sequences.expect_total("record(TinyAttention)", tape.rows(x));
  const Index a = layer.config.width, kept = tape.keep(sequences);
  const Variable qkv = record<T>(tape.at("qkv"), layer.qkv, x);
  const Variable q = tape.columns(qkv, 0, a), k = tape.columns(qkv, a, a), v = tape.columns(qkv, 2 * a, a);
  const AttentionInputs<T> inputs{.q = q, .k = k, .v = v, .queries = kept, .keys = kept};
  const Variable attended = attend(tape, inputs, [&layer](Index) { return layer.scoring(); });
  return record<T>(tape.at("proj_out"), layer.proj_out, attended);
}

}  // namespace gated
