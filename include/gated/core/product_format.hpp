#pragma once

#include "gated/core/words.hpp"

/// @file
/// The precision of products.

namespace gated {

/// Which numbers products multiply. Sums are in float.
enum class ProductFormat {
  float32,  ///< the factors as they are
  bf16      ///< both rounded to bf16, which has 8 digits of float's 24, to nearest, ties to even; what is denormal becomes 0
};

constexpr auto names_of(ProductFormat) { return words_for<ProductFormat>("float32", "bf16"); }

}  // namespace gated
