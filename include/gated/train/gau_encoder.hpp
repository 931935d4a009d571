#pragma once

#include "gated/models/gau_encoder.hpp"
#include "gated/train/embedding.hpp"
#include "gated/train/gated_attention_unit.hpp"
#include "gated/train/language_model_head.hpp"
#include "gated/train/sinusoid_position.hpp"

/// @file
/// Training of FLASH-Quad and GAU-α.

namespace gated {

namespace detail {

/// y_t = x_t + weight[type_t]. ∂x = ∂y, and ∂weight as that of any embedding.
template <class T>
Variable add_types(Tape<T>& tape, const Embedding<T>& layer, Variable x, Tokens types) {
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  const auto type = [types](Index i) { return GauEncoder<T>::type_of(types, i); };
  View<T> sum = tape[y];
  sum = tape[x];
  for (Index i = 0; i < sum.rows(); ++i) {
    sum.row(i) += layer.weight.row(type(i));
  }
  tape.push([&tape, &layer, x, y, type] {
    add_gradient<T>(tape, x, tape.gradient(y));
    embedding_back(tape, layer, type, y);
  });
  return y;
}

}  // namespace detail

/// The logits (or without head, the hidden states) of GauEncoder::forward(), with embedding dropout behind the embeddings'
/// norm. `tokens`, `mask` and `types` must stay until the way back is over. Errors: as forward().
template <class T>
Variable record(Tape<T>& tape, const GauEncoder<T>& model, Tokens tokens, const Sequences& sequences, Mask mask = {},
                Tokens types = {}) {
  model.check(tokens, sequences, types);
  Variable x = record<T>(tape.at("embedding"), model.embedding, tokens);
  if (model.type_embedding) {
    x = detail::add_types<T>(tape.at("type_embedding"), *model.type_embedding, x, types);
  }
  x = record<T>(tape.at("position"), model.position, x, sequences);
  x = record<T>(tape.at("embedding_norm"), model.embedding_norm, x);
  x = dropout(tape, x, tape.options().embedding_dropout);

  const Mask visible = model.mask_or_padding(mask, tokens, tape);
  const Index kept = tape.keep(sequences);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto scope = tape.at("layers", static_cast<Index>(i));
    x = tape.block(x, [&tape, &layer = model.layers[i], kept, visible](Variable input) {
      return record(tape, layer, input, tape.sequences(kept), visible);
    });
  }
  return model.head ? record<T>(tape.at("head"), *model.head, x, model.embedding.weight) : x;
}

}  // namespace gated
