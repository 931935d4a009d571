#pragma once

#include "gated/ops/token_shift.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training through the token shift.

namespace gated {

/// y = token_shift(x), or x itself for an amount of 0. The gradient is shifted back.
template <class T>
Variable token_shift(Tape<T>& tape, Variable x, const Sequences& sequences, Index amount, bool causal) {
  if (amount == 0) {
    return x;
  }
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  token_shift<T>(tape[x], sequences, amount, causal, tape[y]);
  const Index kept = tape.keep(sequences);
  tape.push([&tape, x, y, kept, amount, causal] {
    const auto frame = tape.workspace().frame();
    MatrixMap<T> moved = tape.workspace().matrix(tape.rows(x), tape.width(x));
    token_shift<T>(tape.gradient(y), tape.sequences(kept), amount, causal, moved, true);
    add_gradient<T>(tape, x, moved);
  });
  return y;
}

/// y = shift_first_half(x). The gradient is shifted back.
template <class T>
Variable shift_first_half(Tape<T>& tape, Variable x, const Sequences& sequences) {
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  shift_first_half<T>(tape[x], sequences, tape[y]);
  const Index kept = tape.keep(sequences);
  tape.push([&tape, x, y, kept] {
    const auto frame = tape.workspace().frame();
    MatrixMap<T> moved = tape.workspace().matrix(tape.rows(x), tape.width(x));
    shift_first_half<T>(tape.gradient(y), tape.sequences(kept), moved, true);
    add_gradient<T>(tape, x, moved);
  });
  return y;
}

}  // namespace gated
