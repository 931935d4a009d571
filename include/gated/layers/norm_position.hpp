#pragma once

#include <utility>

#include "gated/core/words.hpp"
#include "gated/layers/norm.hpp"
#include "gated/ops/epilogue.hpp"

/// @file
/// Pre-norm, post-norm and res-post-norm.

namespace gated {

/// Where a block normalises.
enum class NormPosition {
  pre,      ///< y = x + branch(norm(x)): gMLP, FLASH
  post,     ///< y = norm(x + branch(x)): GAU-α, FNet
  res_post  ///< y = x + norm(branch(x)), the res-post-norm of Swin Transformer V2 (arXiv:2111.09883): KW-MLP
};

constexpr auto names_of(NormPosition) { return words_for<NormPosition>("pre", "post", "res_post"); }

/// A residual branch with its norm at `position`; `branch(x, epilogue)` computes the branch. `then` has the branch's scale and
/// drop path. In res-post-norm both apply to the normalised branch.
/// Shapes: x and y are rows × C.
/// Cost: that of norm and branch; in res-post-norm, one more pass to add x.
template <class Run, class F, class T = typename Run::Scalar>
MatrixOf<Run> residual_branch(Run& run, NormPosition position, const Norm<T>& norm, MatrixOf<Run> x, Epilogue<Run> then,
                              const F& branch) {
  if (position == NormPosition::res_post) {
    auto mixed = branch(x, Epilogue<Run>());  // rows × C
    then.residual = std::move(x);
    return run(norm, std::move(mixed), std::move(then));
  }
  auto input = position == NormPosition::pre ? run(norm, x) : x;  // rows × C
  then.residual = std::move(x);
  auto y = branch(std::move(input), std::move(then));  // rows × C
  return position == NormPosition::pre ? y : run(norm, std::move(y));
}

}  // namespace gated
