#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/language_model_head.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/sinusoid_position.hpp"

/// @file
/// Options for models/language_model.hpp.

namespace gated {

/// How a sequence becomes one vector.
enum class TextPooling {
  first,  ///< the hidden state of the first token
  mean    ///< the mean of all hidden states
};

constexpr auto names_of(TextPooling) { return words_for<TextPooling>("first", "mean"); }

/// The options of a language model.
template <class TrunkConfig>
struct LanguageModelConfig {
  Index vocabulary = 0;                             ///< V
  Index token_types = 0;                            ///< number of segment types (BERT's token_type_ids); 0 for none
  PositionForm position = PositionForm::none;       ///< position embedding
  Index max_length = 0;                             ///< rows of the position table, if there is one
  NormForm embedding_norm = NormForm::none;         ///< norm after the sum of the embeddings
  double embedding_norm_eps = 1e-5;                 ///< ε of the norm after the embeddings
  bool embedding_projection = false;                ///< C → C projection after the embedding norm, as in FNet
  Index pad_token = -1;                             ///< id to mask when no mask is given; -1 for none
  NormForm final_norm = NormForm::none;             ///< norm after the trunk, with or without a head
  double final_norm_eps = 1e-5;                     ///< ε of the norm after the trunk
  TextPooling pooling = TextPooling::first;         ///< how pooled() reduces a sequence to one vector
  bool pooler = false;                              ///< BERT's pooler on that vector: C → C projection, activation, norm
  Activation pooler_activation = Activation::tanh;  ///< activation of the pooler
  NormForm pooler_norm = NormForm::none;            ///< norm at the end of the pooler
  double pooler_norm_eps = 1e-5;                    ///< ε of the pooler's norm
  bool pooler_bias = true;                          ///< adds a bias to the pooler's projection
  bool unit_length = false;                         ///< scale the pooled vector to length 1: dot products are then cosines
  Index classes = 0;                                ///< classes of the classifier on the pooled vector; 0 for none
  LanguageModelHeadConfig head{};                   ///< options of the head, if there is one
  TrunkConfig trunk{};                              ///< options of the blocks; they set the model's channels

  template <class C = LanguageModelConfig>
  static constexpr auto fields() {
    return Fields(setting("vocabulary", &C::vocabulary), setting("token_types", &C::token_types),
                  setting("position", &C::position), setting("max_length", &C::max_length),
                  setting("embedding_norm", &C::embedding_norm), setting("embedding_norm_eps", &C::embedding_norm_eps),
                  setting("embedding_projection", &C::embedding_projection), setting("pad_token", &C::pad_token),
                  setting("final_norm", &C::final_norm), setting("final_norm_eps", &C::final_norm_eps),
                  setting("pooling", &C::pooling), setting("pooler", &C::pooler),
                  setting("pooler_activation", &C::pooler_activation), setting("pooler_norm", &C::pooler_norm),
                  setting("pooler_norm_eps", &C::pooler_norm_eps), setting("pooler_bias", &C::pooler_bias),
                  setting("unit_length", &C::unit_length), setting("classes", &C::classes), setting("head", &C::head),
                  setting("trunk", &C::trunk));
  }
};

}  // namespace gated
