#pragma once

#include <utility>

#include "gated/core/run.hpp"
#include "gated/core/words.hpp"
#include "gated/ops/epilogue.hpp"

/// @file
/// How the input joins the output of a layer.

namespace gated {

/// How a layer's input joins its output.
enum class Residual {
  none,
  plain,  ///< y + x
  scaled  ///< y + x ⊙ a learned scale per channel: mmpose
};

constexpr auto names_of(Residual) { return words_for<Residual>("none", "plain", "scaled"); }

/// What a layer's last projection takes: its input x as `residual` wants it. `scale` has no size unless it is scaled.
template <class Run>
Epilogue<Run> with_residual(Residual residual, MatrixOf<Run> x, const Vector<typename Run::Scalar>& scale) {
  return residual == Residual::none ? Epilogue<Run>{} : Epilogue<Run>{.residual = std::move(x), .residual_scale = scale.data()};
}

}  // namespace gated
