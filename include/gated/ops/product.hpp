#pragma once

#include "gated/ops/fused.hpp"

/// @file
/// The product with a weight, as an op with its derivative.

namespace gated {

/// y = x Wᵀ + b, and what `fused` adds to it; b may be empty.
///
/// Backward: ∂x = ∂z W, ∂W = ∂zᵀ x, ∂b = Σ ∂z over the tokens, with ∂z of backward_through(). An observer sees x Wᵀ + b alone.
/// Shapes: x is N × in, weight is out × in, y is N × out.
/// Errors: ShapeError.
/// Cost: 2·N·in·out flops, twice that backward.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows product(Run& run, const typename Run::Rows& x, const Matrix<T>& weight, const Vector<T>& bias,
                           const Fused<Run>& fused, const typename Run::Place& to) {
  typename Run::Place place = to;
  if constexpr (!Run::records) {
    if (to.data == x.data) {
      place = {};  // a product is not written over its own factor
    }
  }
  return join_residual(run, fused, [&](const Fused<Run>& joined) {
    const auto y = run.make(run.count(x), weight.rows(), place);
    Epilogue<T> epilogue = epilogue_of(run, joined, y, {.bias = bias.data()});
    if constexpr (Run::records) {
      const auto kept = joined.keeps() ? run.make(run.count(x), weight.rows()) : typename Run::Rows();
      if (kept) {
        epilogue.kept = run[kept];
      }
      run.push([x, y, kept, joined, &weight, &bias](auto& back) {
        const View<T> dz = backward_through(back, joined, y, kept, back.gradient_of(bias.data()));
        add_parameter_product(back, weight, transposed(dz), back[x]);
        add_gradient_product(back, x, dz, weight);
      });
    } else if (run.observed() && !joined.is_plain()) {
      const auto frame = run.workspace().frame();
      MatrixMap<T> alone = run.workspace().matrix(x.count, weight.rows());
      matmul(x, transposed(weight), alone, run.workspace(), {.bias = bias.data()});
      run.show(alone);
    }
    matmul(run[x], transposed(weight), run[y], run.workspace(), epilogue);
    return y;
  });
}

}  // namespace gated
