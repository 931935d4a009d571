#pragma once

#include <algorithm>

#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// Token shift: some channels of a token come from its neighbours.

namespace gated {

/// Moves chunks of channels along the tokens of each sequence; zeros enter at the ends (lucidrains' PreShiftTokens).
///
/// The shifts are 0, 1, …, amount when causal, and -amount, …, amount otherwise. Chunk k is the channels
/// [k·f, (k+1)·f) with f = ⌊C / number of shifts⌋, and y[t, chunk k] = x[t - shift_k, chunk k]; the channels left over
/// stay. `back` moves them the other way, the transpose: how gradients pass. Shapes: x and y are N × C and must not overlap.
/// Cost: one copy.
template <class T>
void token_shift(const ConstView<T>& x, const Sequences& sequences, Index amount, bool causal, View<T> y, bool back = false) {
  const Index shifts = causal ? amount + 1 : 2 * amount + 1;
  const Index first = causal ? 0 : -amount;
  const Index width = x.cols() / shifts;
  y = x;
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index length = sequences.length(b), offset = sequences.offset(b);
    for (Index k = 0; k < shifts; ++k) {
      const Index shift = back ? -(first + k) : first + k;
      const Index kept = std::max<Index>(length - std::abs(shift), 0);  // tokens whose source lies inside the sequence
      auto to = y.block(offset, k * width, length, width);
      to.setZero();
      to.middleRows(std::clamp<Index>(shift, 0, length), kept) =
          x.block(offset + std::clamp<Index>(-shift, 0, length), k * width, kept, width);
    }
  }
}

/// The rows `first`, `first` + 1, … of a causal token_shift() of the one sequence x, as many as y has.
template <class T>
void token_shift_causal_rows(const ConstView<T>& x, Index first, Index amount, View<T> y) {
  const Index width = x.cols() / (amount + 1);
  y = x.middleRows(first, y.rows());
  for (Index row = 0; row < y.rows(); ++row) {
    for (Index shift = 1; shift <= amount; ++shift) {
      const Index source = first + row - shift;
      auto to = y.block(row, shift * width, 1, width);
      if (source >= 0) {
        to = x.block(source, shift * width, 1, width);
      } else {
        to.setZero();
      }
    }
  }
}

/// The first ⌈C/2⌉ channels of each token come from the token before it, zeros at the start of a sequence (lucidrains' FLASH).
///
/// `back` moves them the other way, the transpose. Shapes: x and y are N × C and must not overlap. Cost: one copy.
template <class T>
void shift_first_half(const ConstView<T>& x, const Sequences& sequences, View<T> y, bool back = false) {
  const Index half = (x.cols() + 1) / 2;
  y.rightCols(x.cols() - half) = x.rightCols(x.cols() - half);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index length = sequences.length(b), offset = sequences.offset(b);
    if (length > 0) {
      y.block(back ? offset + length - 1 : offset, 0, 1, half).setZero();
      y.block(back ? offset : offset + 1, 0, length - 1, half) = x.block(back ? offset + 1 : offset, 0, length - 1, half);
    }
  }
}

}  // namespace gated
