#pragma once

#include "gated/layers/gated_projection.hpp"
#include "gated/train/elementwise.hpp"
#include "gated/train/linear.hpp"

/// @file
/// Training of the projections that open a gated attention unit.

namespace gated {

/// The gate, the values, and what queries and keys share.
struct GatedVariables {
  Variable u, v, z;
};

/// (u, v, z) = act(x W + b), as columns of one matrix or two. Cost: see Linear and activate().
template <class T>
GatedVariables record(Tape<T>& tape, const GatedProjection<T>& layer, Variable x) {
  const Index e = layer.value, s = layer.query_key;
  const Variable hidden = record<T>(tape.at("hidden"), layer.hidden, x), active = activate(tape, hidden, layer.activation);
  const Variable first = tape.columns(active, 0, e), second = tape.columns(active, e, e);
  if (layer.layout == ProjectionLayout::fused) {
    return {first, second, tape.columns(active, 2 * e, s)};
  }
  const Variable qk = record<T>(tape.at("qk"), *layer.qk, x);
  return {second, first, activate(tape, qk, layer.activation)};
}

}  // namespace gated
