#pragma once

#include "gated/models/gau_presets.hpp"
#include "gated/models/presets.hpp"

/// @file
/// Models measured in several places. peers/models.py has the same sizes for the other runtimes.

namespace bench {

/// The trunk of gMLP-S/16, on the patches of an image.
inline gated::GmlpConfig gmlp_s16() { return {.length = 196, .channels = 256, .hidden = 1536, .depth = 30}; }

/// A gMLP for texts.
inline gated::GmlpConfig gmlp_nlp() { return {.length = 512, .channels = 512, .hidden = 3072, .depth = 8}; }

/// FLASH for texts of any length.
inline gated::FlashConfig flash_trunk(bool causal) {
  return {.depth = 12, .block = gated::flash_presets::lucidrains({.channels = 512, .causal = causal})};
}

/// The causal gMLP over bytes, for the benchmarks of training.
inline gated::GmlpLanguageModelConfig trained_gmlp() {
  return {.vocabulary = 256,
          .head = {.form = gated::HeadForm::untied, .bias = true},
          .trunk = {.length = 256, .channels = 256, .hidden = 1024, .depth = 4, .causal = true}};
}

}  // namespace bench
