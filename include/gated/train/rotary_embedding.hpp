#pragma once

#include "gated/layers/rotary_embedding.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training through the rotary position embedding.

namespace gated {

/// Rotates each of `parts` in place; their gradients are rotated back in place. Nothing may have read the parts before, except
/// what made them.
template <class T, class... Parts>
void rotate(Tape<T>& tape, const RotaryEmbedding<T>& layer, Index sequences, Parts... parts) {
  if (layer.layout == Rotary::none) {
    return;
  }
  const auto forward = [&](auto... x) { layer.forward(tape.sequences(sequences), 0, tape.workspace(), x...); };
  forward(tape[parts]...);
  tape.push([&tape, &layer, sequences, parts...] {
    const auto backward = [&](auto... dx) { layer.backward(tape.sequences(sequences), tape.workspace(), dx...); };
    backward(accumulator(tape, parts)...);
  });
}

}  // namespace gated
