#pragma once

#include "gated/layers/gmlp_block.hpp"
#include "gated/models/image_classifier.hpp"
#include "gated/models/language_model.hpp"
#include "gated/models/stack.hpp"

/// @file
/// gMLP and aMLP: trunk, image classifier and language model (arXiv:2105.08050).

namespace gated {

/// A stack of `depth` gMLP (or aMLP) blocks: see Stack.
template <class T>
using Gmlp = Stack<GmlpBlock<T>, GmlpConfig>;

/// Patches → gMLP blocks → LayerNorm → mean → head (arXiv:2105.08050, §3): see ImageClassifier.
template <class T>
using GmlpImageClassifier = ImageClassifier<Gmlp<T>>;
/// The options of a gMLP image classifier. Leave `trunk.length` at 0 to compute it from the image and patch sizes.
using GmlpImageClassifierConfig = ImageClassifierConfig<GmlpConfig>;

/// Embedding → gMLP blocks → norm → logits, without position embedding (arXiv:2105.08050, §4). See LanguageModel.
template <class T>
using GmlpLanguageModel = LanguageModel<Gmlp<T>>;
/// The options of a gMLP language model.
using GmlpLanguageModelConfig = LanguageModelConfig<GmlpConfig>;

}  // namespace gated
