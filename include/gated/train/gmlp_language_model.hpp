#pragma once

#include "gated/models/gmlp_language_model.hpp"
#include "gated/train/embedding.hpp"
#include "gated/train/gmlp.hpp"
#include "gated/train/language_model_head.hpp"

/// @file
/// Training of gMLP and aMLP for text.

namespace gated {

/// The logits of GmlpLanguageModel::forward(), with dropout behind the embedding. `tokens` must stay until the way back is
/// over.
template <class T>
Variable record(Tape<T>& tape, const GmlpLanguageModel<T>& model, Tokens tokens, const Sequences& sequences) {
  sequences.expect_total("GmlpLanguageModel::forward", static_cast<Index>(tokens.size()));
  Variable x = record<T>(tape.at("embedding"), model.embedding, tokens);
  x = dropout(tape, x, tape.options().embedding_dropout);
  x = record<T>(tape.at("trunk"), model.trunk, x, sequences);
  return record<T>(tape.at("head"), model.head, x, model.embedding.weight);
}

}  // namespace gated
