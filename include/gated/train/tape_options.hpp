#pragma once

#include "gated/core/error.hpp"

/// @file
/// What may happen in training only.

namespace gated {

/// How a training step differs from inference. Dropout and stochastic depth need a generator in Tape::begin(); without one they
/// have no effect.
struct TapeOptions {
  bool recompute = false;        ///< keep only what enters each block, and compute the rest again in the backward pass
  double attention_dropout = 0;  ///< of attention weights: GAU, FLASH's local part, tiny and softmax attention
  double embedding_dropout = 0;  ///< after the sum (and norm) of a text model's embeddings
  double residual_dropout = 0;   ///< of a layer's output before the residual joins it
  bool scaled_depth = false;     ///< stochastic depth for each sequence alone, survivors divided by their probability (timm);
                                 ///< otherwise for whole blocks, unscaled (lucidrains)

  /// Errors: ArgumentError for a rate outside 0 ≤ rate < 1.
  void check() const {
    for (const double rate : {attention_dropout, embedding_dropout, residual_dropout}) {
      require<ArgumentError>(rate >= 0 && rate < 1, "Tape: a dropout rate is ", rate, ", expected 0 ≤ rate < 1.");
    }
  }
};

}  // namespace gated
