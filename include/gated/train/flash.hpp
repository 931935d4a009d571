#pragma once

#include "gated/models/flash.hpp"
#include "gated/train/mixed_chunk_attention.hpp"

/// @file
/// Training of the trunk of FLASH.

namespace gated {

/// x ← layer(x), `depth` times; see Tape::block() for what is kept. `mask` must stay until the way back is over. Errors: as
/// Flash::forward().
template <class T>
Variable record(Tape<T>& tape, const Flash<T>& model, Variable x, const Sequences& sequences, Mask mask = {}) {
  model.check(tape[x], sequences, mask);
  const Index kept = tape.keep(sequences);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto scope = tape.at("layers", static_cast<Index>(i));
    x = tape.block(x, [&tape, &layer = model.layers[i], kept, mask](Variable input) {
      return record(tape, layer, input, tape.sequences(kept), mask);
    });
  }
  return x;
}

}  // namespace gated
