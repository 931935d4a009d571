#pragma once

#include "gated/ops/join.hpp"

/// @file
/// The product with a weight, as an op with its derivative.

namespace gated {

/// y = x Wᵀ + b with `epilogue` applied; b may be empty.
///
/// Backward: ∂x = ∂z W, ∂W = ∂zᵀ x, ∂b = Σ ∂z over the tokens, with ∂z from backward_through().
/// Shapes: x is N × in, weight is out × in, y is N × out.
/// Errors: ShapeError if the shapes do not match.
/// Cost: 2·N·in·out flops; the backward pass costs twice that.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> product(Run& run, const MatrixOf<Run>& x, const Matrix<T>& weight, const Vector<T>& bias,
                      const Epilogue<Run>& epilogue) {
  const Joined<Run> joined = joined_result(run, run.rows(x), weight.rows(), epilogue, {.bias = bias.data()});
  if constexpr (Run::records) {
    run.push([x, y = joined.y, saved = joined.saved, epilogue, &weight, &bias](auto& back) {
      const View<T> dz = backward_through(back, epilogue, y, saved, back.gradient_of(bias.data()));
      add_parameter_product(back, weight, transposed(dz), back[x]);
      add_gradient_product(back, x, dz, weight);
    });
  }
  matmul(run[x], quantizable(transposed(weight)), run[joined.y], run.workspace(), joined.epilogue);
  return joined.y;
}

}  // namespace gated
