#pragma once

#include "gated/layers/gated_attention_unit.hpp"
#include "gated/models/language_model.hpp"

/// @file
/// Text encoders made of gated attention units: FLASH-Quad and GAU-α.

namespace gated {

/// The options of a GAU encoder.
using GauEncoderConfig = LanguageModelConfig<StackConfig<GatedAttentionUnitConfig>>;

/// Embeddings (words, segments, positions) → norm → gated attention units → hidden states or masked-LM logits
/// (arXiv:2202.10447), as in JunnYu's FLASH-Quad and GAU-α. io/junnyu.hpp loads their checkpoints. See LanguageModel.
///
///     GauEncoder<float> model({.vocabulary = 12000,
///                              .head = {.form = HeadForm::none},
///                              .trunk = {.depth = 24, .block = gau_presets::gau_alpha({.channels = 768})}}, random);
///     Matrix<float> hidden = model.forward(tokens, Sequences::of_lengths({12, 7}), workspace);
template <class T>
using GauEncoder = LanguageModel<Stack<GatedAttentionUnit<T>>>;

}  // namespace gated
