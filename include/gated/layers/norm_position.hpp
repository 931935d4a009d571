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

/// The input of a block's branch: norm(x) if the norm comes first, else x.
template <class Run, class T>
MatrixOf<Run> norm_before(Run& run, NormPosition position, const Norm<T>& norm, MatrixOf<Run> x) {
  return position == NormPosition::pre ? run(norm, std::move(x)) : std::move(x);
}

/// The epilogues of the branch and of the norm after it. One of them is `residual`, which adds x and may scale or drop the
/// branch; the other does nothing.
template <class Run>
std::pair<Epilogue<Run>, Epilogue<Run>> place_residual(NormPosition position, Epilogue<Run> residual) {
  std::pair<Epilogue<Run>, Epilogue<Run>> epilogues;
  (position == NormPosition::res_post ? epilogues.second : epilogues.first) = std::move(residual);
  return epilogues;
}

/// The result of a block whose branch returned y: norm(y) with the epilogue `then`, or y if the norm came first.
template <class Run, class T>
MatrixOf<Run> norm_after(Run& run, NormPosition position, const Norm<T>& norm, MatrixOf<Run> y, Epilogue<Run> then) {
  return position == NormPosition::pre ? std::move(y) : run(norm, std::move(y), std::move(then));
}

}  // namespace gated
