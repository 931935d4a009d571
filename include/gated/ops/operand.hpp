#pragma once

#include <algorithm>
#include <type_traits>

#include "gated/core/matrix_view.hpp"

/// @file
/// Factors of a product.

namespace gated {

/// A factor of a product: a matrix or a transpose. Made from a view, or by transposed().
template <class T>
struct Operand {
  using Element = T;
  const T* data;
  Index rows, columns;
  Index row_stride, column_stride;  ///< in elements; for a second factor, one of them is 1
  Index diagonal = -1;              ///< for a lower triangle: the last nonzero column of row 0
  Index upper = -1;                 ///< for a transposed lower triangle: the last nonzero row of column 0
  bool quantizable = false;         ///< for a second factor: see quantizable()

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
    return result;
  }
  /// Number of leading columns that a product reads for rows 0 … `row`.
  Index depth(Index row) const { return diagonal < 0 ? columns : std::min(columns, diagonal + row + 1); }
  /// Number of leading columns of an upper triangle that are 0 from `row` on: a product skips them.
  Index skipped(Index row) const { return upper < 0 ? 0 : std::clamp<Index>(row - upper, 0, columns); }
  const T* at(Index row, Index column) const { return detail::shifted(data, row * row_stride + column * column_stride); }
};

/// The transpose of a matrix as a factor of matmul(): `matmul(x, transposed(weight), y, workspace)`.
template <class M>
auto transposed(const M& x) {
  if constexpr (requires { typename M::Element; }) {
    return x.transposed();
  } else {
    return Operand<std::remove_const_t<typename M::Scalar>>(x).transposed();
  }
}

/// Allows int8_products() to compute the product with `b` as second factor. Used for products with a layer's weights; not for
/// attention scores, nor for causal mixing, whose scales would depend on later tokens.
template <class T>
Operand<T> quantizable(Operand<T> b) {
  b.quantizable = true;
  return b;
}

/// A lower triangle as the first factor of matmul(): row i is 0 after column `diagonal` + i, `diagonal` ≥ 0. The zeros are
/// neither read nor multiplied, so a NaN in a row of the second factor reaches no earlier row.
template <class T>
Operand<T> lower(Operand<T> x, Index diagonal) {
  x.diagonal = diagonal;
  return x;
}

}  // namespace gated
