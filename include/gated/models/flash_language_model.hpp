#pragma once

#include "gated/models/flash.hpp"
#include "gated/models/language_model.hpp"

/// @file
/// FLASH for text.

namespace gated {

/// The options of a FLASH language model.
using FlashLanguageModelConfig = LanguageModelConfig<FlashConfig>;

/// Embedding + scaled sinusoid → FLASH layers → norm → logits (lucidrains' FLASHTransformer). A stream has no end, and its
/// state does not grow. See LanguageModel.
///
///     FlashLanguageModel<float> model({.vocabulary = 256,
///                                      .position = PositionForm::sinusoid,
///                                      .trunk = {.block = flash_presets::lucidrains({.channels = 256})}}, random);
template <class T>
using FlashLanguageModel = LanguageModel<Flash<T>>;

}  // namespace gated
