#pragma once

#include <algorithm>

#include "gated/train/elementwise.hpp"

/// @file
/// Stochastic depth: training with some of the blocks (Huang et al., arXiv:1603.09382).

namespace gated {

/// For each of `blocks` blocks, 1 if this step uses it and 0 otherwise: lucidrains' rule, in which blocks are dropped one by
/// one, survivors stay as they are, and one survives at least. All of them in a step without noise, and where each sequence
/// decides for itself.
template <class T>
const T* draw_blocks(Tape<T>& tape, double survival, Index blocks) {
  T* const used = tape.take(blocks);
  std::fill_n(used, blocks, T{1});
  if (survival >= 1 || tape.noise() == nullptr || tape.options().scaled_depth || blocks == 0) {
    return used;
  }
  for (Index i = 0; i < blocks; ++i) {
    used[i] = tape.noise()->uniform() < survival ? T{1} : T{0};
  }
  if (std::count(used, used + blocks, T{1}) == 0) {
    used[static_cast<Index>(tape.noise()->uniform() * static_cast<double>(blocks))] = T{1};
  }
  return used;
}

/// y = x, or 0 for the sequences that do not survive; survivors are divided by the probability: timm's rule, for a branch. x
/// itself in a step without noise, and where whole blocks are dropped instead.
template <class T>
Variable drop_sequences(Tape<T>& tape, Variable x, const Sequences& sequences, double survival) {
  if (survival >= 1 || tape.noise() == nullptr || !tape.options().scaled_depth) {
    return x;
  }
  T* const factors = tape.take(tape.rows(x));
  for (Index b = 0; b < sequences.count(); ++b) {
    const bool survives = tape.noise()->uniform() < survival;
    std::fill_n(factors + sequences.offset(b), sequences.length(b), survives ? static_cast<T>(1 / survival) : T{0});
  }
  return scale(tape, x, [factors](Index i, Index, Index) { return Simd<T>(factors[i]); });
}

}  // namespace gated
