#pragma once

#include "gated/models/gmlp.hpp"
#include "gated/models/image_classifier.hpp"

/// @file
/// gMLP for images.

namespace gated {

/// The options of a gMLP image classifier. `trunk.length` follows from image and patch and may be left 0.
using GmlpImageClassifierConfig = ImageClassifierConfig<GmlpConfig>;

/// Patches → gMLP blocks → LayerNorm → mean → head (arXiv:2105.08050, §3): see ImageClassifier.
template <class T>
using GmlpImageClassifier = ImageClassifier<Gmlp<T>>;

}  // namespace gated
