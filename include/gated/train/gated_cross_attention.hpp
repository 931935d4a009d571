#pragma once

#include "gated/layers/gated_cross_attention.hpp"
#include "gated/train/attention.hpp"
#include "gated/train/norm.hpp"
#include "gated/train/residual.hpp"

/// @file
/// Training of the gated attention unit whose keys and values come from another sequence.

namespace gated {

/// GatedCrossAttention::forward() with attention dropout on A and residual dropout behind proj_out. `mask` must stay until the
/// way back is over. Errors: as forward(). Cost: see attend_back().
template <class T>
Variable record(Tape<T>& tape, const GatedCrossAttention<T>& layer, Variable x, const Sequences& queries, Variable key,
                Variable value, const Sequences& others, Mask mask = {}) {
  layer.check(tape[x], queries, tape[key], tape[value], others, mask);
  const GatedCrossAttentionConfig& config = layer.config;
  const auto project = [&](const char* name, const Linear<T>& projection, Variable from, Activation activation) {
    const Variable projected = record<T>(tape.at(name), projection, from);
    return activate(tape, projected, activation);
  };
  const Variable normalised = record<T>(tape.at("norm"), layer.norm, x);
  const Variable uq = project("proj_in", layer.proj_in, normalised, config.activation);
  const Variable u = tape.columns(uq, 0, config.value), q = tape.columns(uq, config.value, config.query_key);
  const Variable k = project("proj_key", layer.proj_key, key, config.key_value_activation);
  const Variable v = project("proj_value", layer.proj_value, value, config.key_value_activation);

  const AttentionInputs<T> inputs{.q = q, .k = k, .v = v, .queries = tape.keep(queries), .keys = tape.keep(others)};
  const T* const visible = mask_values(mask, tape);
  const Variable attended = attend(tape, inputs, [&tape, &layer, keys = inputs.keys, mask, visible](Index b) {
    return layer.scoring(tape.sequences(keys), b, mask, visible);
  });
  return add_residual(tape, layer.proj_out, config.residual, layer.residual_scale, multiply(tape, attended, u), x);
}

}  // namespace gated
