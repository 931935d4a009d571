#pragma once

#include "gated/ops/pool.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training through what makes one vector of a sequence.

namespace gated {

/// y[b] = mean of the rows of sequence b. Each row receives ∂y[b] / length.
template <class T>
Variable mean_over_tokens(Tape<T>& tape, Variable x, const Sequences& sequences) {
  sequences.expect_total("mean_over_tokens", tape.rows(x));
  const Variable y = tape.make(sequences.count(), tape.width(x));
  mean_over_tokens<T>(tape[x], sequences, tape[y], tape.workspace());
  const Index kept = tape.keep(sequences);
  tape.push([&tape, x, y, kept] {
    const Sequences split = tape.sequences(kept);
    const ConstView<T> dy = tape.gradient(y);
    auto [to, fresh] = tape.target(x);
    for (Index b = 0; b < split.count(); ++b) {
      const T share = T{1} / static_cast<T>(std::max<Index>(split.length(b), 1));
      for (Index i = split.offset(b); i < split.offset(b) + split.length(b); ++i) {
        if (fresh) {
          to.row(i) = dy.row(b) * share;
        } else {
          to.row(i) += dy.row(b) * share;
        }
      }
    }
  });
  return y;
}

/// y[b] = the first row of sequence b: what a class token is read out as.
template <class T>
Variable first_tokens(Tape<T>& tape, Variable x, const Sequences& sequences) {
  sequences.expect_total("first_tokens", tape.rows(x));
  const Variable y = tape.make(sequences.count(), tape.width(x));
  for (Index b = 0; b < sequences.count(); ++b) {
    tape[y].row(b) = tape[x].row(sequences.offset(b));
  }
  const Index kept = tape.keep(sequences);
  tape.push([&tape, x, y, kept] {
    const Sequences split = tape.sequences(kept);
    const ConstView<T> dy = tape.gradient(y);
    View<T> to = accumulator(tape, x);
    for (Index b = 0; b < split.count(); ++b) {
      to.row(split.offset(b)) += dy.row(b);
    }
  });
  return y;
}

/// y = x with a row before each sequence: the class token. `sequences` splits x.
template <class T>
Variable prepend(Tape<T>& tape, const Vector<T>& token, Variable x, const Sequences& sequences) {
  const Variable y = tape.make(tape.rows(x) + sequences.count(), tape.width(x));
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    tape[y].row(offset + b) = token.transpose();
    tape[y].middleRows(offset + b + 1, length) = tape[x].middleRows(offset, length);
  }
  const Index kept = tape.keep(sequences);
  tape.push([&tape, &token, x, y, kept] {
    const Sequences split = tape.sequences(kept);
    const ConstView<T> dy = tape.gradient(y);
    T* const token_gradient = tape.gradient_of(token.data());
    auto [to, fresh] = tape.target(x);
    for (Index b = 0; b < split.count(); ++b) {
      const Index offset = split.offset(b), length = split.length(b);
      auto rows = to.middleRows(offset, length);
      const auto given = dy.middleRows(offset + b + 1, length);
      if (fresh) {
        rows = given;
      } else {
        rows += given;
      }
      for (Index j = 0; token_gradient != nullptr && j < dy.cols(); ++j) {
        token_gradient[j] += dy(offset + b, j);
      }
    }
  });
  return y;
}

}  // namespace gated
