#pragma once

// What the fragments of README.md take for granted.

#include <cstdio>
#include <vector>

#include "gated/gated.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/image_reader.hpp"
#include "gated/io/classifier.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/generate.hpp"
#include "gated/train.hpp"

namespace readme {

inline const std::vector<unsigned char> text(1000);

inline const auto model = [] {
  gated::Random random(1);
  return gated::FlashLanguageModel<float>(
      {.vocabulary = 256,
       .position = gated::PositionForm::sinusoid,
       .trunk = {.depth = 1, .block = gated::flash_presets::lucidrains({.channels = 32})}},
      random);
}();

}  // namespace readme
