#pragma once

#include <tuple>

#include "gated/core/settings.hpp"
#include "gated/layers/language_model_head.hpp"
#include "gated/layers/sinusoid_position.hpp"

/// @file
/// The options of models/language_model.hpp.

namespace gated {

/// The options of a language model.
template <class TrunkConfig>
struct LanguageModelConfig {
  Index vocabulary = 0;                        ///< V
  Index token_types = 0;                       ///< segment types (BERT's token_type_ids); 0 for none
  PositionForm position = PositionForm::none;  ///< position embedding
  Index max_length = 0;                        ///< rows of the position table, if there is one
  NormForm embedding_norm = NormForm::none;    ///< of the sum of the embeddings
  double embedding_norm_eps = 1e-5;            ///< ε of that norm
  bool embedding_projection = false;           ///< a C → C projection after that norm: FNet
  Index pad_token = -1;                        ///< id to mask if no mask is given; -1 for none
  bool pooler = false;                         ///< also one vector per sequence: BERT's tanh(Linear(first token))
  Index classes = 0;                           ///< classes of a classifier on that vector; 0 for none
  LanguageModelHeadConfig head{};              ///< of the logits, if there are any
  TrunkConfig trunk{};                         ///< of the blocks; its channels are the model's

  template <class C = LanguageModelConfig>
  static constexpr auto fields() {
    return std::tuple(setting("vocabulary", &C::vocabulary), setting("token_types", &C::token_types),
                      setting("position", &C::position), setting("max_length", &C::max_length),
                      setting("embedding_norm", &C::embedding_norm), setting("embedding_norm_eps", &C::embedding_norm_eps),
                      setting("embedding_projection", &C::embedding_projection), setting("pad_token", &C::pad_token),
                      setting("pooler", &C::pooler), setting("classes", &C::classes), setting("head", &C::head),
                      setting("trunk", &C::trunk));
  }
};

}  // namespace gated
