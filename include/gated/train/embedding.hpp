#pragma once

#include <vector>

#include "gated/layers/embedding.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the token embedding.

namespace gated {

namespace detail {

/// ∂W[id_t] += ∂y_t, token by token in their order.
template <class T>
void embedding_back(Tape<T>& tape, const Matrix<T>& weight, Tokens tokens, Variable y) {
  T* const to = tape.gradient_of(weight.data());
  if (to == nullptr) {
    return;
  }
  const ConstView<T> dy = tape.gradient(y);
  MatrixMap<T> gradient(to, weight.rows(), weight.cols());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    gradient.row(tokens[i]) += dy.row(static_cast<Index>(i));
  }
}

}  // namespace detail

/// y_t = weight[id_t]. `tokens` must stay until the way back is over. Errors: ArgumentError for an unknown id.
template <class T>
Variable record(Tape<T>& tape, const Embedding<T>& layer, Tokens tokens) {
  const Variable y = tape.make(static_cast<Index>(tokens.size()), layer.weight.cols());
  layer.forward(tokens, tape[y], tape.workspace());
  tape.push([&tape, &layer, tokens, y] { detail::embedding_back<T>(tape, layer.weight, tokens, y); });
  return y;
}

/// Of whatever reads tokens: a temporary would be gone before the way back.
template <class T, class Model, class... Others>
Variable record(Tape<T>&, const Model&, std::vector<Index>&&, const Others&...) = delete;

}  // namespace gated
