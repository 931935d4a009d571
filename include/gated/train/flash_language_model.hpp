#pragma once

#include "gated/models/flash_language_model.hpp"
#include "gated/train/embedding.hpp"
#include "gated/train/flash.hpp"
#include "gated/train/language_model_head.hpp"
#include "gated/train/sinusoid_position.hpp"

/// @file
/// Training of FLASH for text.

namespace gated {

/// The logits (or without head, the hidden states) of FlashLanguageModel::forward(), with embedding dropout behind the
/// positions. `tokens` and `mask` must stay until the way back is over. Errors: as forward().
template <class T>
Variable record(Tape<T>& tape, const FlashLanguageModel<T>& model, Tokens tokens, const Sequences& sequences, Mask mask = {}) {
  model.check(tokens, sequences);
  Variable x = record<T>(tape.at("embedding"), model.embedding, tokens);
  x = record<T>(tape.at("position"), model.position, x, sequences);
  x = dropout(tape, x, tape.options().embedding_dropout);
  x = record<T>(tape.at("trunk"), model.trunk, x, sequences, mask);
  return model.head ? record<T>(tape.at("head"), *model.head, x, model.embedding.weight) : x;
}

}  // namespace gated
