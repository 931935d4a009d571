#pragma once

#include <algorithm>
#include <type_traits>

#include "gated/core/matrix_view.hpp"

/// @file
/// Operands of matmul().

namespace gated {

/// An operand of matmul(): a matrix or a transpose. Made from a matrix or view, or by transposed().
template <class T>
struct Operand {
  using Element = T;
  const T* data;
  Index rows, columns;
  Index row_stride, column_stride;  ///< in elements; for operand b of matmul(a, b), one of the two is 1
  Index diagonal = -1;              ///< if lower triangular: the last nonzero column of row 0
  Index upper = -1;                 ///< if the transpose of a lower triangular matrix: the last nonzero row of column 0
  bool quantizable = false;         ///< for operand b of matmul(a, b): see quantizable()
  bool exact = false;               ///< for operand a: bf16_products() leaves the product in float. For sums that a
                                    ///< stream and a batch divide differently

  Operand(const ConstView<T>& x)
      : data(x.data()), rows(x.rows()), columns(x.cols()), row_stride(x.outerStride()), column_stride(1) {}
  Operand(const View<T>& x) : Operand(x.data(), x.rows(), x.cols(), x.outerStride(), 1) {}
  Operand(const Matrix<T>& x) : Operand(x.data(), x.rows(), x.cols(), x.outerStride(), 1) {}
  Operand(const MatrixMap<T>& x) : Operand(x.data(), x.rows(), x.cols(), x.outerStride(), 1) {}
  Operand(const MatrixView<const T>& x) : Operand(x.data, x.rows(), x.columns(), x.stride, 1) {}
  Operand(const MatrixView<T>& x) : Operand(x.data, x.rows(), x.columns(), x.stride, 1) {}
  Operand(const T* data_, Index rows_, Index columns_, Index row_stride_, Index column_stride_)
      : data(data_), rows(rows_), columns(columns_), row_stride(row_stride_), column_stride(column_stride_) {}

  Operand transposed() const {
    Operand result(data, columns, rows, column_stride, row_stride);
    result.upper = diagonal;
    result.diagonal = upper;
    result.exact = exact;
    return result;
  }
  /// In rows 0 … `row`, all columns from depth(row) on count as 0: matmul() does not multiply them.
  Index depth(Index row) const { return diagonal < 0 ? columns : std::min(columns, diagonal + row + 1); }
  /// In the rows from `row` on, all columns before skipped(row) are 0: matmul() skips them.
  Index skipped(Index row) const { return upper < 0 ? 0 : std::clamp<Index>(row - upper, 0, columns); }
  const T* at(Index row, Index column) const { return detail::shifted(data, row * row_stride + column * column_stride); }
};

/// The transpose of a matrix as an operand: `matmul(x, transposed(weight), y, workspace)`.
template <class M>
auto transposed(const M& x) {
  if constexpr (requires { typename M::Element; }) {
    return x.transposed();
  } else {
    return Operand<std::remove_const_t<typename M::Scalar>>(x).transposed();
  }
}

/// Allows int8_products() to quantize operand b of matmul(a, b). Used for the weights of layers. Not used for attention scores,
/// nor for causal mixing over tokens, where the scales would depend on later tokens.
template <class T>
Operand<T> quantizable(Operand<T> b) {
  b.quantizable = true;
  return b;
}

/// A lower triangle as operand a of matmul(a, b): row i is 0 after column `diagonal` + i, `diagonal` ≥ 0. The zeros are not
/// multiplied, so they never turn a NaN in b into a NaN of the product.
template <class T>
Operand<T> lower(Operand<T> x, Index diagonal) {
  x.diagonal = diagonal;
  return x;
}

}  // namespace gated
