#pragma once

#include <optional>

#include "gated/layers/spatial_gating_unit.hpp"
#include "gated/train/elementwise.hpp"
#include "gated/train/norm.hpp"
#include "gated/train/spatial_projection.hpp"

/// @file
/// Training of the spatial gating unit.

namespace gated {

/// y = u ⊙ act(W LN(v) + b + addition), or what the unit's form makes of it. Cost: twice the forward's products.
template <class T>
Variable record(Tape<T>& tape, const SpatialGatingUnit<T>& layer, Variable x, const Sequences& sequences,
                std::optional<Variable> addition = std::nullopt) {
  layer.check(tape[x], sequences);
  const bool split = layer.config.form == GateForm::split;
  const Variable u = split ? tape.columns(x, 0, layer.out()) : x;
  const Variable v = split ? tape.columns(x, layer.out(), layer.out()) : x;
  const Variable normalised = record<T>(tape.at("norm"), layer.norm, v);
  Variable gate = record<T>(tape.at("proj"), layer.proj, normalised, sequences);
  if (addition) {
    layer.expect_addition(tape[*addition], tape.rows(x));
    gate = add(tape, gate, *addition);
  }
  gate = activate(tape, gate, layer.config.activation);
  switch (layer.config.form) {
    case GateForm::split:
    case GateForm::multiplicative:
      return multiply(tape, gate, u);
    case GateForm::additive:
      return add(tape, gate, u);
    case GateForm::linear:
      break;
  }
  return gate;
}

}  // namespace gated
