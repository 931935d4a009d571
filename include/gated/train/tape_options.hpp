#pragma once

#include <utility>

#include "gated/core/error.hpp"
#include "gated/core/settings.hpp"

/// @file
/// Dropout and recomputation in training.

namespace gated {

/// How a training step differs from inference. Dropout and stochastic depth need a generator in Tape::begin(); without one they
/// have no effect.
struct TapeOptions {
  bool recompute = false;        ///< keep only each block's input, and recompute the rest in the backward pass
  double attention_dropout = 0;  ///< dropout rate of attention weights: GAU, self-, cross-, relative and tiny attention, and
                                 ///< the local part of FLASH; not Synthesizer or external attention
  double embedding_dropout = 0;  ///< dropout rate of a text model's embeddings, after they are summed (and normalized)
  double residual_dropout = 0;   ///< dropout rate of a layer's output, before the residual is added; not in
                                 ///< ExternalAttentionHead; also of f(Z) in an additive gate
  bool scaled_depth = false;     ///< true: stochastic depth drops sequences and divides survivors by 1 - drop_path, as in timm;
                                 ///< false: it drops whole blocks without scaling, as in lucidrains' g-mlp-pytorch

  template <class O = TapeOptions>
  static constexpr auto fields() {
    return Fields(setting("recompute", &O::recompute), setting("attention_dropout", &O::attention_dropout),
                  setting("embedding_dropout", &O::embedding_dropout), setting("residual_dropout", &O::residual_dropout),
                  setting("scaled_depth", &O::scaled_depth));
  }

  /// Errors: ArgumentError for a rate outside 0 ≤ rate < 1.
  void check() const {
    for (const auto& [name, rate] :
         {std::pair{"attention_dropout", attention_dropout}, std::pair{"embedding_dropout", embedding_dropout},
          std::pair{"residual_dropout", residual_dropout}}) {
      require<ArgumentError>(rate >= 0 && rate < 1, "TapeOptions: ", name, " = ", rate, ", expected 0 ≤ rate < 1.");
    }
  }
};

}  // namespace gated
