#pragma once

#include <type_traits>

#include "gated/ops/epilogue.hpp"
#include "gated/ops/gemm.hpp"

/// @file
/// The one door through which every dense product goes.

namespace gated {

/// The transpose of a matrix as a factor of matmul(): `matmul(x, transposed(weight), y, workspace)`.
template <class M>
auto transposed(const M& x) {
  if constexpr (requires { typename M::Element; }) {
    return x.transposed();
  } else {
    return Operand<std::remove_const_t<typename M::Scalar>>(x).transposed();
  }
}

/// A lower triangle as the first factor of matmul(): row i is 0 after column `diagonal` ≥ 0 plus i. What is 0 is neither read
/// nor multiplied, and nor are the rows of the second factor that it would meet: a NaN there reaches no row before its own.
template <class T>
Operand<T> lower(Operand<T> x, Index diagonal) {
  x.diagonal = diagonal;
  return x;
}

/// y = a · b and what joins it: a dense product with the epilogue applied before the result is stored.
///
/// Shapes: a is M × K, b is K × N, y is M × N. y may be read by the epilogue (a gate, a residual) but must not overlap a or b.
///
///     matmul(x, transposed(weight), y, workspace, {.bias = bias.data(), .activation = Activation::gelu});
///
/// Errors: ShapeError if the sizes do not fit. NaN and infinities propagate along their row of a and column of b.
/// Cost: 2·M·N·K flops; scratch of one packed panel of b (two vectors × K) per thread, and of a if it is a transposed matrix.
template <class T>
void matmul(const std::type_identity_t<Operand<T>>& a, const std::type_identity_t<Operand<T>>& b,
            std::type_identity_t<View<T>> y, Workspace<T>& workspace, const std::type_identity_t<Epilogue<T>>& epilogue = {}) {
  require<ShapeError>(a.columns == b.rows, "matmul: a is ", a.rows, " × ", a.columns, " and b is ", b.rows, " × ", b.columns,
                      ", expected as many columns of a as rows of b.");
  expect_shape<T>("matmul", "y", y, a.rows, b.columns);
  const auto expect_joined = [&](const char* name, const auto& x) {
    require<ShapeError>(!x || (x.count == y.rows() && x.columns == y.cols()), "matmul: the ", name, " is ", x.count, " × ",
                        x.columns, ", expected ", y.rows(), " × ", y.cols(), " as y.");
  };
  expect_joined("added matrix", epilogue.added);
  expect_joined("gate", epilogue.gate);
  expect_joined("residual", epilogue.residual);
  expect_joined("kept matrix", epilogue.kept);
  const auto finish = [&](Index row, Index column, Index rows, Index columns, T* tile) {
    detail::finish_tile<T>(epilogue, row, column, rows, columns, tile, &y.coeffRef(row, column), y.outerStride());
  };
  detail::gemm::multiply(a, b, detail::gemm::TileFunction<T>(finish), workspace, epilogue.wanted);
}

}  // namespace gated
