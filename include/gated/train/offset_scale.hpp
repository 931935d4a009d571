#pragma once

#include "gated/layers/offset_scale.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the copies that become queries and keys.

namespace gated {

/// y = x ⊙ weight_i + bias_i with i = `row`. ∂x = ∂y ⊙ weight_i, ∂weight_i = Σ ∂y ⊙ x and ∂bias_i = Σ ∂y over the tokens.
template <class T>
Variable record(Tape<T>& tape, const OffsetScale<T>& layer, Index row, Variable x) {
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  layer.forward(row, tape[x], tape[y], tape.workspace());
  tape.push([&tape, &layer, row, x, y] {
    const View<T> from = tape[x];
    const ConstView<T> dy = tape.gradient(y);
    const Index first = row * dy.cols();  // of this row in weight and bias
    const auto product = [&](Index i, Index j, Index lanes, Simd<T> factor) {
      return Simd<T>::load(&dy.coeffRef(i, j), lanes) * factor;
    };
    add_gradient(tape, x, [&](Index i, Index j, Index lanes) {
      return product(i, j, lanes, Simd<T>::load(layer.weight.data() + first + j, lanes));
    });
    if (T* const to = tape.gradient_of(layer.weight.data())) {
      add_column_sums<T>(dy.rows(), dy.cols(), to + first, tape.workspace(), [&](Index i, Index j, Index lanes) {
        return product(i, j, lanes, Simd<T>::load(&from.coeffRef(i, j), lanes));
      });
    }
    if (T* const to = tape.gradient_of(layer.bias.data())) {
      add_column_sums<T>(dy, to + first, tape.workspace());
    }
  });
  return y;
}

}  // namespace gated
