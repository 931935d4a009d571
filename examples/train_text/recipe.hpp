#pragma once

#include <cstdint>

#include "gated/core/matrix.hpp"
#include "gated/core/settings.hpp"

namespace text {

/// The settings of a training run beyond those of gated::Training, saved with it as metadata.
struct Recipe {
  gated::Index length = 0;   ///< bytes per sequence
  gated::Index batch = 0;    ///< sequences per step
  std::uint64_t corpus = 0;  ///< the fingerprint of the training texts
  bool mlm = false;          ///< predict masked bytes instead of the next byte

  static constexpr const char* key = "train_text";
  static constexpr auto fields() {
    using R = Recipe;
    return gated::Fields(gated::setting("length", &R::length), gated::setting("batch", &R::batch),
                         gated::setting("corpus", &R::corpus), gated::setting("mlm", &R::mlm));
  }
};

}  // namespace text
