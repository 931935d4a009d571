#pragma once

#include "gated/models/gmlp.hpp"
#include "gated/models/language_model.hpp"

/// @file
/// gMLP and aMLP for text.

namespace gated {

/// The options of a gMLP language model.
using GmlpLanguageModelConfig = LanguageModelConfig<GmlpConfig>;

/// Embedding → gMLP blocks → norm → logits (arXiv:2105.08050, §4); the paper has no position embedding. See LanguageModel.
template <class T>
using GmlpLanguageModel = LanguageModel<Gmlp<T>>;

}  // namespace gated
