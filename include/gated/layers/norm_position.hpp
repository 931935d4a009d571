#pragma once

#include <utility>

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

/// y = residual + branch(norm(x)), norm(branch(x) + residual) or norm(branch(x)) + residual: see NormPosition. `residual` is
/// the epilogue that adds x, and scales or drops the branch; `branch(x, then)` returns its result with the epilogue `then`.
template <class Run, class T, class F>
MatrixOf<Run> with_norm(Run& run, NormPosition position, const Norm<T>& norm, MatrixOf<Run> x, Epilogue<Run> residual,
                        const F& branch) {
  switch (position) {
    case NormPosition::pre:
      return branch(run(norm, std::move(x)), std::move(residual));
    case NormPosition::post:
      return run(norm, branch(std::move(x), std::move(residual)));
    case NormPosition::res_post:
      break;
  }
  return run(norm, branch(std::move(x), Epilogue<Run>()), std::move(residual));
}

}  // namespace gated
