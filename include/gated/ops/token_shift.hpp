#pragma once

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "gated/core/sequences.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Token shift: tokens take some channels from their neighbours.

namespace gated {

/// Distance and direction of a token shift.
struct TokenShift {
  Index amount = 0;     ///< the largest shift; 0 for none
  bool causal = false;  ///< channels come from earlier tokens only

  Index count() const { return causal ? amount + 1 : 2 * amount + 1; }
  Index first() const { return causal ? 0 : -amount; }
};

namespace detail {

/// y[t, chunk k] = x[t - sign · shift_k, chunk k], with zeros entering at the ends of each sequence.
template <class T>
void move_tokens(const MatrixView<const T>& x, const Sequences& sequences, const TokenShift& shift, Index sign,
                 const MatrixView<T>& y) {
  const Index width = x.columns() / shift.count();
  y.assign(x);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index length = sequences.length(b), offset = sequences.offset(b);
    for (Index k = 0; k < shift.count(); ++k) {
      const Index by = sign * (shift.first() + k);
      const Index kept = std::max<Index>(length - std::abs(by), 0);  // tokens whose source is in the sequence
      const MatrixView<T> to = y.block(offset, k * width, length, width);
      to.fill(T{0});
      to.rows(std::clamp<Index>(by, 0, length), kept)
          .assign(x.block(offset + std::clamp<Index>(-by, 0, length), k * width, kept, width));
    }
  }
}

/// Moves the first ⌈C/2⌉ channels of each token to the next (sign = 1) or previous token; zeros enter at the ends.
template <class T>
void move_first_half(const MatrixView<const T>& x, const Sequences& sequences, Index sign, const MatrixView<T>& y) {
  const Index half = (x.columns() + 1) / 2;
  y.columns(half, x.columns() - half).assign(x.columns(half, x.columns() - half));
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index length = sequences.length(b), offset = sequences.offset(b);
    if (length > 0) {
      y.block(sign < 0 ? offset + length - 1 : offset, 0, 1, half).fill(T{0});
      y.block(sign < 0 ? offset : offset + 1, 0, length - 1, half)
          .assign(x.block(sign < 0 ? offset + 1 : offset, 0, length - 1, half));
    }
  }
}

/// y = move(x, sign = 1) as an op; the backward pass moves ∂y with sign = -1.
template <class Run, class Move, class T = typename Run::Scalar>
MatrixOf<Run> shifted(Run& run, const MatrixOf<Run>& x, const Move& move) {
  const auto y = run.make(run.rows(x), run.columns(x));
  move(run[x], run.sequences(), Index{1}, run[y]);
  if constexpr (Run::records) {
    run.push([x, y, move, kept = run.kept_sequences()](auto& back) {
      const ConstView<T> dy = back.gradient(y);
      const auto frame = back.workspace().frame();
      MatrixMap<T> moved = back.workspace().matrix(dy.rows(), dy.cols());
      move(dy, back.sequences(kept), Index{-1}, moved);
      add_gradient(back, x, ConstView<T>(moved));
    });
  }
  return y;
}

}  // namespace detail

/// y = token_shift(x): see the op below.
/// Shapes: x and y are N × C and must not overlap.
template <class T>
void token_shift(const std::type_identity_t<ConstView<T>>& x, const Sequences& sequences, const TokenShift& shift, View<T> y) {
  detail::move_tokens<T>(x, sequences, shift, 1, y);
}

/// Shifts chunks of channels along the tokens of each sequence; zeros enter at the ends (lucidrains' PreShiftTokens).
///
/// The shifts are 0, 1, …, amount if causal, else -amount, …, amount. Chunk k is channels [k·f, (k+1)·f) with f = ⌊C / number
/// of shifts⌋, and y[t, chunk k] = x[t - shift_k, chunk k]; leftover channels are copied. Returns x for amount = 0. A stream,
/// which must be causal, remembers all tokens.
/// Shapes: x and y are N × C.
/// Cost: one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> token_shift(Run& run, const MatrixOf<Run>& x, const TokenShift& shift) {
  if (shift.amount == 0) {
    return x;
  }
  if constexpr (Run::streams) {
    require<ArgumentError>(
        shift.causal, run.where(),
        ": tokens are shifted both ways, so a token's output depends on later tokens and cannot be streamed. "
        "Build it with causal = true.");
    const Index width = x.columns() / shift.count(), first = run.position();
    Matrix<T>& seen = run.remember(run.capacity(), x.columns());
    const MatrixView<T> tokens = seen;
    const auto y = run.make(x.rows(), x.columns());
    tokens.rows(first, x.rows()).assign(x);
    y.assign(x);
    for (Index row = 0; row < x.rows(); ++row) {
      for (Index by = 1; by <= shift.amount; ++by) {
        const MatrixView<T> part = y.block(row, by * width, 1, width);
        if (first + row >= by) {
          part.assign(tokens.block(first + row - by, by * width, 1, width));
        } else {
          part.fill(T{0});
        }
      }
    }
    return y;
  } else {
    return detail::shifted(
        run, x, [shift](const MatrixView<const T>& from, const Sequences& sequences, Index sign, const MatrixView<T>& to) {
          detail::move_tokens<T>(from, sequences, shift, sign, to);
        });
  }
}

/// Moves the first ⌈C/2⌉ channels of each token to the next token of its sequence; the first token gets zeros (lucidrains'
/// FLASH). A stream remembers the last token.
/// Shapes: x and y are N × C.
/// Cost: one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> shift_first_half(Run& run, const MatrixOf<Run>& x) {
  const auto y = detail::shifted(
      run, x, [](const MatrixView<const T>& from, const Sequences& sequences, Index sign, const MatrixView<T>& to) {
        detail::move_first_half<T>(from, sequences, sign, to);
      });
  if constexpr (Run::streams) {
    Matrix<T>& last = run.remember(1, x.columns(), Run::Memory::sums);
    if (x.rows() > 0) {
      const Index half = (x.columns() + 1) / 2;
      View<T>(y).row(0).head(half) = last.row(0).head(half);
      last.row(0) = View<T>(x).bottomRows(1);
    }
  }
  return y;
}

}  // namespace gated
