#pragma once

// What the fragments of README.md take for granted.

#include <cstdio>
#include <vector>

#include "gated/gated.hpp"

namespace readme {

inline const gated::FlashLanguageModel<float> model({.vocabulary = 256,
                                                     .trunk = {.depth = 1, .layer = gated::flash_presets::lucidrains(32)}});

}  // namespace readme
