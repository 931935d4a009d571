#pragma once

#include "gated/layers/residual.hpp"
#include "gated/train/elementwise.hpp"
#include "gated/train/linear.hpp"

/// @file
/// Training of the residual connection.

namespace gated {

/// y = dropout(proj_out(attended)), and x as the residual wants it; the rate is TapeOptions::residual_dropout.
template <class T>
Variable add_residual(Tape<T>& tape, const Linear<T>& proj_out, Residual residual, const Vector<T>& scale, Variable attended,
                      Variable x) {
  const Variable projected = record<T>(tape.at("proj_out"), proj_out, attended);
  const Variable branch = dropout(tape, projected, tape.options().residual_dropout);
  switch (residual) {
    case Residual::none:
      break;
    case Residual::plain:
      return add(tape, branch, x);
    case Residual::scaled:
      return add_scaled(tape, branch, x, scale);
  }
  return branch;
}

}  // namespace gated
