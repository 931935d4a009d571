#pragma once

#include "gated/core/words.hpp"
#include "gated/layers/norm.hpp"

/// @file
/// Pre-norm and post-norm.

namespace gated {

/// Where a block normalises.
enum class NormPosition {
  pre,  ///< y = x + branch(norm(x)): gMLP, FLASH
  post  ///< y = norm(x + branch(x)): GAU-α, FNet, KW-MLP (keyword spotting)
};

constexpr auto names_of(NormPosition) { return words_for<NormPosition>("pre", "post"); }

}  // namespace gated
