#pragma once

#include "gated/models/gmlp_image_classifier.hpp"
#include "gated/train/gmlp.hpp"
#include "gated/train/patch_embedding.hpp"
#include "gated/train/pool.hpp"

/// @file
/// Training of gMLP for images.

namespace gated {

/// What GmlpImageClassifier::features() gives: the tokens behind the final norm.
template <class T>
Variable record_features(Tape<T>& tape, const GmlpImageClassifier<T>& model, Variable images) {
  const Index count = tape.rows(images);
  Variable x = record<T>(tape.at("patch_embedding"), model.patch_embedding, images);
  if (model.class_token.size() > 0) {
    x = prepend(tape, model.class_token, x, Sequences::uniform(count, model.patch_embedding.grid().area()));
  }
  if (model.stem_norm) {
    x = record<T>(tape.at("stem_norm"), *model.stem_norm, x);
  }
  x = record<T>(tape.at("trunk"), model.trunk, x, Sequences::uniform(count, model.tokens_per_image()));
  return record<T>(tape.at("norm"), model.norm, x);
}

/// What GmlpImageClassifier::forward() gives: logits, or pooled features without a head.
template <class T>
Variable record(Tape<T>& tape, const GmlpImageClassifier<T>& model, Variable images) {
  const Sequences sequences = Sequences::uniform(tape.rows(images), model.tokens_per_image());
  Variable x = record_features(tape, model, images);
  if (model.config.readout == Readout::mean) {
    x = mean_over_tokens(tape, x, sequences);
  } else if (model.config.readout == Readout::class_token) {
    x = first_tokens(tape, x, sequences);
  }
  if (model.pre_logits) {
    x = record<T>(tape.at("pre_logits"), *model.pre_logits, x);
    x = activate(tape, x, Activation::tanh);
  }
  return model.head ? record<T>(tape.at("head"), *model.head, x) : x;
}

}  // namespace gated
