#pragma once

#include "gated/core/words.hpp"
#include "gated/layers/norm.hpp"

/// @file
/// Pre-norm and post-norm.

namespace gated {

/// Where a block normalises.
enum class NormPosition {
  pre,  ///< y = x + branch(norm(x)): gMLP, FLASH
  post  ///< y = norm(x + branch(x)): GAU-α, FNet, keyword spotting's KW-MLP
};

constexpr auto names_of(NormPosition) { return words_for<NormPosition>("pre", "post"); }

/// One of these. `branch(z, to)` gives x + branch(z), at `to` if it can; z is x where no norm stands before it.
template <class Run, class T, class Branch>
RowsOf<Run> with_norm(Run& run, const Norm<T>& norm, NormPosition position, const RowsOf<Run>& x, const PlaceOf<Run>& to,
                      const Branch& branch) {
  if (position == NormPosition::post) {
    const auto y = branch(x, PlaceOf<Run>());  // elsewhere, because `to` may be x
    return run(norm, y, {}, to);
  }
  return norm.form == NormForm::none ? branch(x, PlaceOf<Run>()) : branch(run(norm, x), to);
}

}  // namespace gated
