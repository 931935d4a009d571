#pragma once

#include "gated/models/gmlp.hpp"
#include "gated/train/gmlp_block.hpp"

/// @file
/// Training of the trunk of gMLP and aMLP.

namespace gated {

/// x ← block(x), `depth` times. GmlpConfig::survival is the probability of a block in a step with noise.
template <class T>
Variable record(Tape<T>& tape, const Gmlp<T>& model, Variable x, const Sequences& sequences) {
  model.check(tape[x], sequences);
  const Index kept = tape.keep(sequences);
  const T* const used = draw_blocks(tape, model.config.survival, model.config.depth);
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    if (used[i] != T{0}) {
      const auto scope = tape.at("blocks", static_cast<Index>(i));
      const GmlpBlock<T>& block = model.blocks[i];
      x = tape.block(x, [&tape, &block, kept](Variable input) { return record(tape, block, input, tape.sequences(kept)); });
    }
  }
  return x;
}

}  // namespace gated
