#pragma once

#include "gated/layers/linear.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the channel projection.

namespace gated {

/// y = x Wᵀ + b. ∂x = ∂y W, ∂W = ∂yᵀ x, ∂b = the sum of ∂y over the tokens. Cost: twice the forward's products.
template <class T>
Variable record(Tape<T>& tape, const Linear<T>& layer, Variable x) {
  const Variable y = tape.make(tape.rows(x), layer.out());
  layer.forward(tape[x], tape[y], tape.workspace());
  tape.push([&tape, &layer, x, y] {
    const ConstView<T> dy = tape.gradient(y);
    add_gradient_product(tape, x, dy, layer.weight);
    add_parameter_product(tape, layer.weight, transposed<T>(dy), tape[x]);
    if (T* const to = tape.gradient_of(layer.bias.data())) {
      add_column_sums<T>(dy, to, tape.workspace());
    }
  });
  return y;
}

}  // namespace gated
