#pragma once

#include "gated/layers/sinusoid_position.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the scale of sinusoidal positions.

namespace gated {

/// y_t = x_t + scale · p_t, or x itself without positions. ∂x = ∂y, ∂scale = Σ_t ∂y_t · p_t. Errors: as
/// SinusoidPosition::expect_length().
template <class T>
Variable record(Tape<T>& tape, const SinusoidPosition<T>& layer, Variable x, const Sequences& sequences) {
  if (layer.form == PositionForm::none) {
    return x;
  }
  layer.expect_length("record(SinusoidPosition)", sequences.longest());
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  tape[y] = tape[x];
  layer.add_to(tape[y], sequences);
  const Index kept = tape.keep(sequences);
  tape.push([&tape, &layer, kept, x, y] {
    const ConstView<T> dy = tape.gradient(y);
    add_gradient<T>(tape, x, dy);
    T* const to = tape.gradient_of(layer.scale.data());
    if (to == nullptr) {
      return;
    }
    const Sequences all = tape.sequences(kept);
    const auto frame = tape.workspace().frame();
    MatrixMap<T> positions = tape.workspace().matrix(all.longest(), dy.cols());
    positions.setZero();
    layer.add_to(positions, 0, T{1});
    for (Index b = 0; b < all.count(); ++b) {
      *to += dy.middleRows(all.offset(b), all.length(b)).cwiseProduct(positions.topRows(all.length(b))).sum();
    }
  });
  return y;
}

}  // namespace gated
