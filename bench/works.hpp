#pragma once

#include "gated/models/gau_presets.hpp"
#include "gated/models/presets.hpp"

/// @file
/// Models used by several benchmarks. peers/models.py defines models of the same sizes for the other runtimes.

namespace bench {

/// The trunk of gMLP-S/16, on the patches of an image.
inline gated::GmlpConfig gmlp_s16() { return {.length = 196, .channels = 256, .hidden = 1536, .depth = 30}; }

/// A gMLP for texts.
inline gated::GmlpConfig gmlp_nlp() { return {.length = 512, .channels = 512, .hidden = 3072, .depth = 8}; }

/// FLASH for texts of any length.
inline gated::FlashConfig flash_trunk(bool causal) {
  return {.depth = 12, .block = gated::flash_presets::lucidrains({.channels = 512, .causal = causal})};
}

/// A causal byte-level gMLP for the training benchmarks.
inline gated::GmlpLanguageModelConfig trained_gmlp() {
  return {.vocabulary = 256,
          .head = {.form = gated::HeadForm::untied, .bias = true},
          .trunk = {.length = 256, .channels = 256, .hidden = 1024, .depth = 4, .causal = true}};
}

}  // namespace bench
