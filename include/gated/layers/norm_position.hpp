#pragma once

#include "gated/core/words.hpp"
#include "gated/layers/norm.hpp"

/// @file
/// Pre-norm, post-norm and res-post-norm.

namespace gated {

/// The position of the norm in a block.
enum class NormPosition {
  pre,      ///< y = x + branch(norm(x)): gMLP, FLASH
  post,     ///< y = norm(x + branch(x)): GAU-α, FNet
  res_post  ///< y = x + norm(branch(x)), the res-post-norm of Swin Transformer V2 (arXiv:2111.09883): KW-MLP
};

constexpr auto names_of(NormPosition) { return words_for<NormPosition>("pre", "post", "res_post"); }

}  // namespace gated
