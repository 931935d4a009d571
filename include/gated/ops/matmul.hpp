#pragma once

#include <type_traits>

#include "gated/ops/epilogue.hpp"
#include "gated/ops/gemm.hpp"

/// @file
/// The one door through which every dense product goes.

namespace gated {

/// The transpose of a matrix as a factor of matmul(): `matmul(x, transposed<T>(weight), y, …)`.
template <class T>
Operand<T> transposed(const std::type_identity_t<Operand<T>>& x) {
  return x.transposed();
}

/// y = stages(a · b): a dense product whose epilogue is applied before the result is stored.
///
/// Shapes: a is M × K, b is K × N, y is M × N. The stages of ops/epilogue.hpp are applied to each element in the order given:
///
///     matmul(x, transposed<T>(weight), y, workspace, AddBias<T>{bias}, Activate{Gelu{}});
///
/// y may be read by a stage (a residual) but must not overlap a or b.
/// Errors: ShapeError if the sizes do not fit. NaN and infinities propagate along their row of a and column of b.
/// Cost: 2·M·N·K flops; scratch of one packed panel of b (two vectors × K) per thread.
template <class T, class... Stages>
void matmul(const std::type_identity_t<Operand<T>>& a, const std::type_identity_t<Operand<T>>& b,
            std::type_identity_t<View<T>> y, Workspace<T>& workspace, const Stages&... stages) {
  require<ShapeError>(a.columns == b.rows, "matmul: a is ", a.rows, " × ", a.columns, " and b is ", b.rows, " × ", b.columns,
                      ", expected as many columns of a as rows of b.");
  expect_shape<T>("matmul", "y", y, a.rows, b.columns);

  const auto finish = [&](Index row, Index column, Index rows, Index columns, const T* tile) {
    for (Index i = 0; i < rows; ++i, tile += detail::gemm::panel_columns<T>) {
      for_each_vector<T>(columns, [&](Index j, Index lanes) {
        Simd<T> value = Simd<T>::load(tile + j);
        ((value = stages(Position{row + i, column + j, lanes}, value)), ...);
        value.store(&y.coeffRef(row + i, column + j), lanes);
      });
    }
  };
  detail::gemm::multiply(a, b, detail::gemm::Epilogue<T>(finish), workspace);
}

}  // namespace gated
