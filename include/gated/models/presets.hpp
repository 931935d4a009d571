#pragma once

#include "gated/models/gmlp_image_classifier.hpp"

/// @file
/// Published configurations, by the names that they are published under.

namespace gated {

/// The vision family of the gMLP paper (Table 1) as timm ships it: 30 blocks of hidden width 6·C, block norms with eps 1e-6,
/// gate norms with 1e-5, mean pooling.
inline GmlpImageClassifierConfig timm_gmlp(Index channels, Index classes = 1000) {
  return {.classes = classes, .trunk = {.channels = channels, .hidden = 6 * channels, .depth = 30, .norm_eps = 1e-6}};
}

/// timm's gmlp_ti16_224: 5,867,328 parameters.
inline GmlpImageClassifierConfig gmlp_ti16_224(Index classes = 1000) { return timm_gmlp(128, classes); }
/// timm's gmlp_s16_224: 19,422,656 parameters; the one with published weights (top-1 79.65 %).
inline GmlpImageClassifierConfig gmlp_s16_224(Index classes = 1000) { return timm_gmlp(256, classes); }
/// timm's gmlp_b16_224: 73,075,392 parameters.
inline GmlpImageClassifierConfig gmlp_b16_224(Index classes = 1000) { return timm_gmlp(512, classes); }

}  // namespace gated
