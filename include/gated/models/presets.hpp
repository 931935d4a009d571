#pragma once

#include "gated/models/gmlp_image_classifier.hpp"
#include "gated/models/gmlp_language_model.hpp"

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

/// The sizes of a language model of the gMLP paper.
struct PaperLanguageModel {
  Index depth = 0;       ///< blocks
  Index channels = 512;  ///< C
  Index hidden = 3072;   ///< F
  Index attention = 0;   ///< width of the tiny attention; 0 for gMLP
  Index length = 512;    ///< N
};

/// The language models of the gMLP paper (Tables 3 to 5): 512 tokens, Toeplitz spatial weights, a vocabulary of 32,000 tied to
/// the output, no position embedding. Their parameter counts are the paper's, to the printed digit.
inline GmlpLanguageModelConfig paper_language_model(const PaperLanguageModel& sizes) {
  return {.vocabulary = 32000,
          .trunk = {.length = sizes.length,
                    .channels = sizes.channels,
                    .hidden = sizes.hidden,
                    .depth = sizes.depth,
                    .spatial = SpatialForm::toeplitz,
                    .attention = sizes.attention,
                    .attention_bias = true}};
}

/// gMLP-base: 130 M parameters.
inline GmlpLanguageModelConfig gmlp_base() { return paper_language_model({.depth = 48}); }
/// aMLP-base: 109 M parameters.
inline GmlpLanguageModelConfig amlp_base() { return paper_language_model({.depth = 36, .attention = 64}); }
/// gMLP-large: 365 M parameters.
inline GmlpLanguageModelConfig gmlp_large() { return paper_language_model({.depth = 96, .channels = 768}); }
/// aMLP-large: 316 M parameters.
inline GmlpLanguageModelConfig amlp_large() {
  return paper_language_model({.depth = 72, .channels = 768, .attention = 128});
}
/// gMLP-xlarge: 941 M parameters.
inline GmlpLanguageModelConfig gmlp_xlarge() {
  return paper_language_model({.depth = 144, .channels = 1024, .hidden = 4096});
}
/// The rows of Table 4, which scales depth at 128 tokens: 59, 102, 187 and 357 M parameters at depth 18, 36, 72 and 144.
inline GmlpLanguageModelConfig gmlp_of_depth(Index depth) { return paper_language_model({.depth = depth, .length = 128}); }

}  // namespace gated
