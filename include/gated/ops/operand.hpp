#pragma once

#include <algorithm>
#include <type_traits>

#include "gated/core/matrix_view.hpp"

/// @file
/// The factors of a product.

namespace gated {

/// A factor of a product: a matrix, or the transpose of one. Made from a view, or by transposed().
template <class T>
struct Operand {
  using Element = T;
  const T* data;
  Index rows, columns;
  Index row_stride, column_stride;  ///< in elements; of a second factor, one of them is 1
  Index diagonal = -1;              ///< of a lower triangle: the last column of row 0 that is not 0
  Index upper = -1;                 ///< of the transpose of a lower triangle: the last row whose column 0 is not 0
  bool quantizable = false;         ///< of a second factor: see quantizable()

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
  /// The columns that a product must read for the rows up to `row`.
  Index depth(Index row) const { return diagonal < 0 ? columns : std::min(columns, diagonal + row + 1); }
  /// The columns that are 0 in `row` and all rows after it: an upper triangle's, of which a product leaves them out.
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

/// Lets an engine of integers (ops/int8_products.hpp) compute the product of which `b` is the second factor: that of a layer's
/// weights. Scores, and what must not depend on later tokens, stay in float.
template <class T>
Operand<T> quantizable(Operand<T> b) {
  b.quantizable = true;
  return b;
}

/// A lower triangle as the first factor of matmul(): row i is 0 after column `diagonal` ≥ 0 plus i. What is 0 is neither read
/// nor multiplied, and nor are the rows of the second factor that it would meet: a NaN there reaches no row before its own.
template <class T>
Operand<T> lower(Operand<T> x, Index diagonal) {
  x.diagonal = diagonal;
  return x;
}

}  // namespace gated
