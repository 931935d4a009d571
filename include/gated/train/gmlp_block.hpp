#pragma once

#include "gated/layers/gmlp_block.hpp"
#include "gated/train/linear.hpp"
#include "gated/train/spatial_gating_unit.hpp"
#include "gated/train/stochastic_depth.hpp"
#include "gated/train/tiny_attention.hpp"
#include "gated/train/token_shift.hpp"

/// @file
/// Training of one block of a gMLP or aMLP.

namespace gated {

/// The block without norm and shortcut: y = V s(σ(U x)).
template <class T>
Variable record_branch(Tape<T>& tape, const GmlpBlock<T>& layer, Variable x, const Sequences& sequences) {
  layer.check(tape[x], sequences);
  const GmlpConfig& config = layer.config;
  const Variable shifted = token_shift(tape, x, sequences, config.token_shift, config.causal);
  const Variable projected = record<T>(tape.at("proj_in"), layer.proj_in, shifted);
  const Variable z = activate(tape, projected, config.activation);
  std::optional<Variable> attended;
  if (layer.attention) {
    attended = record<T>(tape.at("attention"), *layer.attention, shifted, sequences);
  }
  const Variable gated = record<T>(tape.at("gate"), layer.gate, z, sequences, attended);
  return record<T>(tape.at("proj_out"), layer.proj_out, gated);
}

/// y = x + V s(σ(U LN(x))), or with the norm behind the shortcut; the branch with dropout and stochastic depth.
template <class T>
Variable record(Tape<T>& tape, const GmlpBlock<T>& layer, Variable x, const Sequences& sequences) {
  layer.check(tape[x], sequences);
  const bool pre = layer.config.norm_position == NormPosition::pre;
  const Variable input = pre ? record<T>(tape.at("norm"), layer.norm, x) : x;
  const Variable branch = dropout(tape, record_branch(tape, layer, input, sequences), tape.options().residual_dropout);
  const Variable y = add(tape, drop_sequences(tape, branch, sequences, layer.config.survival), x);
  return pre ? y : record<T>(tape.at("norm"), layer.norm, y);
}

}  // namespace gated
