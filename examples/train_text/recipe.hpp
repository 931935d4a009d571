#pragma once

#include <cstdint>
#include <tuple>

#include "gated/core/matrix.hpp"
#include "gated/core/settings.hpp"

namespace text {

/// What a training needs to go on as it began, besides what gated::Training knows. It is saved with it, as metadata.
struct Recipe {
  gated::Index length = 0;   ///< bytes of a sequence
  gated::Index batch = 0;    ///< sequences of a step
  std::uint64_t corpus = 0;  ///< its fingerprint
  bool mlm = false;          ///< masked bytes are to be found, not the next one

  static constexpr const char* key = "train_text";
  static constexpr auto fields() {
    using R = Recipe;
    return std::tuple{gated::setting("length", &R::length), gated::setting("batch", &R::batch),
                      gated::setting("corpus", &R::corpus), gated::setting("mlm", &R::mlm)};
  }
};

}  // namespace text
