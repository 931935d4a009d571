#pragma once

#include <tuple>

#include "gated/core/settings.hpp"
#include "gated/layers/language_model_head.hpp"
#include "gated/layers/sinusoid_position.hpp"

/// @file
/// Options for models/language_model.hpp.

namespace gated {

/// The options of a language model.
template <class TrunkConfig>
struct LanguageModelConfig {
  Index vocabulary = 0;                        ///< V
  Index token_types = 0;                       ///< number of segment types (BERT's token_type_ids); 0 for none
  PositionForm position = PositionForm::none;  ///< position embedding
  Index max_length = 0;                        ///< rows of the position table, if there is one
  NormForm embedding_norm = NormForm::none;    ///< norm after the sum of the embeddings
  double embedding_norm_eps = 1e-5;            ///< ε of that norm
  bool embedding_projection = false;           ///< C → C projection after that norm, as in FNet
  Index pad_token = -1;                        ///< id to mask when no mask is given; -1 for none
  bool pooler = false;                         ///< offer pooled(), a vector per sequence: BERT's tanh(Linear(first token))
  Index classes = 0;                           ///< classes of the classifier on that vector; 0 for none
  LanguageModelHeadConfig head{};              ///< options of the head, if there is one
  TrunkConfig trunk{};                         ///< options of the blocks; they set the model's channels

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
