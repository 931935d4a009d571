#pragma once

#include <vector>

#include "gated/layers/embedding.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the token embedding.

namespace gated {

namespace detail {

/// The way back through y_t = weight[id(t)]: ∂weight[id(t)] += ∂y_t, token by token in their order.
template <class T, class Id>
void embedding_back(Tape<T>& tape, const Embedding<T>& layer, const Id& id, Variable y) {
  if (T* const to = tape.gradient_of(layer.weight.data())) {
    const ConstView<T> dy = tape.gradient(y);
    Eigen::Map<Matrix<T>> gradient(to, layer.weight.rows(), layer.weight.cols());
    for (Index t = 0; t < dy.rows(); ++t) {
      gradient.row(id(t)) += dy.row(t);
    }
  }
}

}  // namespace detail

/// y_t = weight[id_t]. `tokens` must stay until the way back is over. Errors: ArgumentError for an unknown id.
template <class T>
Variable record(Tape<T>& tape, const Embedding<T>& layer, Tokens tokens) {
  const Variable y = tape.make(static_cast<Index>(tokens.size()), layer.weight.cols());
  layer.forward(tokens, tape[y], tape.workspace());
  tape.push([&tape, &layer, tokens, y] {
    detail::embedding_back(
        tape, layer, [&](Index t) { return tokens[static_cast<std::size_t>(t)]; }, y);
  });
  return y;
}

/// Of whatever reads tokens: a temporary would be gone before the way back.
template <class T, class Model, class... Others>
Variable record(Tape<T>&, const Model&, std::vector<Index>&&, const Others&...) = delete;

}  // namespace gated
