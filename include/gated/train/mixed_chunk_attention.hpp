#pragma once

#include "gated/layers/mixed_chunk_attention.hpp"
#include "gated/train/gated_projection.hpp"
#include "gated/train/mixed_chunk.hpp"
#include "gated/train/norm.hpp"
#include "gated/train/offset_scale.hpp"
#include "gated/train/relative_bias.hpp"
#include "gated/train/residual.hpp"
#include "gated/train/rotary_embedding.hpp"
#include "gated/train/token_shift.hpp"

/// @file
/// Training of the FLASH layer.

namespace gated {

namespace detail {

/// x_i ← x_i · visible_i in place, and its gradient likewise. Nothing may have read x before, except what made it.
template <class T>
void hide_rows(Tape<T>& tape, Variable x, const T* visible) {
  if (visible == nullptr) {
    return;
  }
  const auto hide = [visible](View<T> rows) {
    for (Index i = 0; i < rows.rows(); ++i) {
      rows.row(i) *= visible[i];
    }
  };
  hide(tape[x]);
  tape.push([&tape, x, hide] { hide(accumulator(tape, x)); });
}

}  // namespace detail

/// MixedChunkAttention::forward() with attention dropout on the local weights A and residual dropout behind proj_out. `mask`
/// must stay until the way back is over. Errors: as forward(). Cost: linear in the sequence, about 2.5 times the forward on the
/// way back; rows × (5C + 6E + 6S) numbers are kept.
template <class T>
Variable record(Tape<T>& tape, const MixedChunkAttention<T>& layer, Variable x, const Sequences& sequences, Mask mask = {}) {
  layer.check(tape[x], sequences, mask);
  const Variable normalised = record<T>(tape.at("norm"), layer.norm, x);
  const Variable input = layer.config.token_shift ? shift_first_half(tape, normalised, sequences) : normalised;
  const GatedVariables parts = record<T>(tape.at("projection"), layer.projection, input);
  const auto made = [&](Index row) { return record<T>(tape.at("offset_scale"), layer.offset_scale, row, parts.z); };
  const auto rows = layer.offset_scale_rows();
  const RelativeBiasTerms<T> relative = record(tape, layer.relative_bias, std::min(layer.config.chunk, sequences.longest()));
  const ChunkInputs<T> inputs{.local_q = made(rows[0]),
                              .local_k = made(rows[1]),
                              .global_q = made(rows[2]),
                              .global_k = made(rows[3]),
                              .values = parts.v,
                              .sequences = tape.keep(sequences),
                              .relative_gradient = relative.gradient};
  rotate(tape, layer.rotary, inputs.sequences, inputs.local_q, inputs.local_k, inputs.global_q, inputs.global_k);
  const T* const visible = mask_values(mask, tape);
  detail::hide_rows(tape, inputs.global_k, visible);

  const auto mixing_of = [&tape, &layer, kept = inputs.sequences, values = relative.values, visible](Index b) {
    ChunkMixing<T> mixing = layer.mixing(values);
    mixing.local.keys = visible == nullptr ? nullptr : visible + tape.sequences(kept).offset(b);
    return mixing;
  };
  const Variable gated = multiply(tape, mix_chunks(tape, inputs, mixing_of), parts.u);
  return add_residual(tape, layer.proj_out, Residual::plain, {}, gated, x);
}

}  // namespace gated
