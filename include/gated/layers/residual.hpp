#pragma once

#include <utility>

#include "gated/core/run.hpp"
#include "gated/core/words.hpp"
#include "gated/ops/epilogue.hpp"

/// @file
/// Residual connections.

namespace gated {

/// The residual connection of a layer.
enum class Residual {
  none,
  plain,  ///< y + x
  scaled  ///< y + x ⊙ scale, with a learned scale per channel: mmpose
};

constexpr auto names_of(Residual) { return words_for<Residual>("none", "plain", "scaled"); }

/// The epilogue of a layer's last projection that adds the layer's input x. `scale` is empty unless `residual` is scaled.
template <class Run>
Epilogue<Run> with_residual(Residual residual, MatrixOf<Run> x, const Vector<typename Run::Scalar>& scale) {
  return residual == Residual::none ? Epilogue<Run>{} : Epilogue<Run>{.residual = std::move(x), .residual_scale = scale.data()};
}

}  // namespace gated
