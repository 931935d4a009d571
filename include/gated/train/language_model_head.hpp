#pragma once

#include "gated/layers/language_model_head.hpp"
#include "gated/train/elementwise.hpp"
#include "gated/train/linear.hpp"
#include "gated/train/norm.hpp"

/// @file
/// Training of the head over the vocabulary.

namespace gated {

namespace detail {

/// logits = x Eᵀ + c. ∂x = ∂logits E, ∂E = ∂logitsᵀ x, which adds to what E receives as an embedding, ∂c = Σ ∂logits.
template <class T>
Variable tied_logits(Tape<T>& tape, const LanguageModelHead<T>& layer, Variable x, const Matrix<T>& embedding) {
  const Variable logits = tape.make(tape.rows(x), layer.vocabulary);
  matmul<T>(tape[x], transposed<T>(embedding), tape[logits], tape.workspace(), AddBias<T>(layer.bias));
  tape.push([&tape, &layer, &embedding, x, logits] {
    const ConstView<T> back = tape.gradient(logits);
    add_gradient_product(tape, x, back, embedding);
    add_parameter_product(tape, embedding, transposed<T>(back), tape[x]);
    if (T* const to = tape.gradient_of(layer.bias.data())) {
      add_column_sums<T>(back, to, tape.workspace());
    }
  });
  return logits;
}

}  // namespace detail

/// logits = norm(act(x W + b)) Eᵀ + c, its parts by configuration; `embedding` is the model's own. Errors: as
/// LanguageModelHead::forward(). Cost: twice the forward on the way back.
template <class T>
Variable record(Tape<T>& tape, const LanguageModelHead<T>& layer, Variable x, const Matrix<T>& embedding) {
  if (layer.dense) {
    x = record<T>(tape.at("dense"), *layer.dense, x);
    x = activate(tape, x, layer.config.activation);
  }
  x = record<T>(tape.at("norm"), layer.norm, x);
  return layer.output ? record<T>(tape.at("output"), *layer.output, x) : detail::tied_logits(tape, layer, x, embedding);
}

}  // namespace gated
