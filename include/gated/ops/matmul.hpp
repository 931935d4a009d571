#pragma once

#include <type_traits>
#include <utility>

#include "gated/ops/gemm.hpp"

/// @file
/// The entry point of every dense product.

namespace gated {

/// y = a · b, with the epilogue applied before the result is stored.
///
/// Shapes: a is M × K, b is K × N, y is M × N. y may be the epilogue's `added`, gate or residual; it must not overlap a or b.
///
///     matmul(x, transposed(weight), y, workspace, {.bias = bias.data(), .activation = Activation::gelu});
///
/// A NaN or infinity in row i of a reaches row i of y; in column j of b, it reaches column j of y.
/// Errors: ShapeError if the sizes do not match; ArgumentError if the epilogue has both a gate and a scale.
/// Cost: 2·M·N·K flops. Scratch: panels of `b` (one per thread, or up to 32 if `a` has many rows), and a transposed `a`.
template <class T>
void matmul(const std::type_identity_t<Operand<T>>& a, const std::type_identity_t<Operand<T>>& b,
            std::type_identity_t<View<T>> y, Workspace<T>& workspace, const std::type_identity_t<Epilogue<T>>& epilogue = {}) {
  require<ShapeError>(a.columns == b.rows, "matmul: a is ", a.rows, " × ", a.columns, " and b is ", b.rows, " × ", b.columns,
                      ", expected columns of a = rows of b.");
  expect_shape<T>("matmul", "y", y, a.rows, b.columns);
  const auto expect_joined = [&](const char* name, const auto& x) {
    require<ShapeError>(!x || (x.rows() == y.rows() && x.columns() == y.cols()), "matmul: the ", name, " is ", x.rows(), " × ",
                        x.columns(), ", expected ", y.rows(), " × ", y.cols(), ", the shape of y.");
  };
  expect_joined("added matrix", epilogue.added);
  expect_joined("gate", epilogue.gate);
  expect_joined("residual", epilogue.residual);
  expect_joined("saved matrix", epilogue.saved);
  if (epilogue.scale != nullptr) {
    epilogue.expect_one_gate();
    Epilogue<T> gated = epilogue;
    gated.gate = {std::exchange(gated.scale, nullptr), y.rows(), y.cols(), 0};  // stride 0: one row for all of y
    return matmul<T>(a, b, y, workspace, gated);
  }
  const auto finish = [&](Index row, Index column, Index rows, Index columns, T* tile) {
    kernels<ProductKernels<T>>().finish_tile(epilogue, row, column, rows, columns, tile, &y.coeffRef(row, column),
                                             y.outerStride());
  };
  detail::gemm::multiply<T>(a, b, finish, workspace, epilogue.wanted);
}

}  // namespace gated
