#pragma once

// Declares the names that code fragments in examples/train_text/README.md use.

#include "gated/io/model_file.hpp"
#include "gated/train.hpp"

namespace readme {

using Model = gated::FlashLanguageModel<float>;
inline constexpr std::uint64_t seed = 1;
inline const gated::FlashLanguageModelConfig config{};
inline const std::vector<gated::Index> tokens{}, targets{};
inline const gated::Sequences sequences = gated::Sequences::uniform(1, 0);
inline void draw_batch() {}

}  // namespace readme
