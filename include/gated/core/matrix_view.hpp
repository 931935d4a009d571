#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <type_traits>

#include "gated/core/matrix.hpp"

/// @file
/// Matrix views that may be absent.

namespace gated {

namespace detail {

/// p + i, or null if p is null (an empty matrix): null + i is undefined behaviour.
template <class T>
T* shifted(T* p, Index i) {
  return p == nullptr ? nullptr : p + i;
}

}  // namespace detail

/// A non-owning view of a row-major matrix. A default-constructed view x is absent: `if (x)` is false.
///
/// Unlike a View (an `Eigen::Ref`), it can be absent, and assignment rebinds it. `T` is const for a read-only matrix.
template <class T>
struct MatrixView {
  using Scalar = std::remove_const_t<T>;

  T* data = nullptr;
  Index stride = 0;  ///< elements from one row to the next

  MatrixView() = default;
  MatrixView(T* data_, Index rows, Index columns, Index stride_)
      : data(data_), stride(stride_), rows_(rows), columns_(columns) {}
  /// Views a row-major Eigen matrix, map or block.
  template <class M>
  requires std::derived_from<std::remove_cvref_t<M>, Eigen::DenseBase<std::remove_cvref_t<M>>> MatrixView(M&& x)
      : MatrixView(x.data(), x.rows(), x.cols(), x.outerStride()) {
    static_assert(std::remove_cvref_t<M>::IsRowMajor, "token matrices are row-major");
    static_assert(!Fleeting<M, Scalar>, "this view would dangle: store the matrix in a variable");
  }
  /// Converts a mutable view to a read-only one.
  template <class U>
  requires(std::is_const_v<T>&& std::same_as<U, Scalar>) MatrixView(const MatrixView<U>& x)
      : MatrixView(x.data, x.rows(), x.columns(), x.stride) {}

  explicit operator bool() const { return data != nullptr; }
  Index rows() const { return rows_; }
  Index columns() const { return columns_; }

  /// The rows `first` … `first` + `number` - 1.
  MatrixView rows(Index first, Index number) const { return {detail::shifted(data, first * stride), number, columns_, stride}; }
  /// The columns `first` … `first` + `number` - 1.
  MatrixView columns(Index first, Index number) const { return {detail::shifted(data, first), rows_, number, stride}; }
  /// The block of `rows` rows and `number` columns that starts at (row, column). A block of an absent matrix is absent.
  MatrixView block(Index row, Index column, Index rows, Index number) const {
    return {detail::shifted(data, row * stride + column), rows, number, stride};
  }

  /// Sets all elements to `value`.
  void fill(Scalar value) const requires(!std::is_const_v<T>) {
    for (Index i = 0; i < rows_; ++i) {
      std::fill_n(data + i * stride, columns_, value);
    }
  }
  /// Copies the elements of `other`, which must have the same shape and must not overlap this matrix.
  void assign(const MatrixView<const Scalar>& other) const requires(!std::is_const_v<T>) {
    for (Index i = 0; i < rows_; ++i) {
      std::copy_n(other.data + i * other.stride, columns_, data + i * stride);
    }
  }

  operator View<Scalar>() const requires(!std::is_const_v<T>) { return map(); }
  operator ConstView<Scalar>() const { return map(); }

 private:
  auto map() const {
    using M = std::conditional_t<std::is_const_v<T>, const Matrix<Scalar>, Matrix<Scalar>>;
    return Eigen::Map<M, 0, Eigen::OuterStride<>>(data, rows_, columns_, Eigen::OuterStride<>(stride));
  }

  Index rows_ = 0, columns_ = 0;
};

/// True if a and b share an element.
/// Cost: constant if the address ranges are disjoint; otherwise at most one pass over the rows.
template <class T>
bool overlap(MatrixView<const T> a, MatrixView<const T> b) {
  const std::less<const T*> before;
  const auto end = [](const MatrixView<const T>& x) { return x.data + (x.rows() - 1) * x.stride + x.columns(); };
  if (a.rows() == 0 || b.rows() == 0 || a.columns() == 0 || b.columns() == 0 || !before(a.data, end(b)) ||
      !before(b.data, end(a))) {
    return false;
  }
  for (Index i = 0, j = 0; i < a.rows() && j < b.rows();) {
    const T *const row = a.data + i * a.stride, *const other = b.data + j * b.stride;
    if (before(row, other + b.columns()) && before(other, row + a.columns())) {
      return true;
    }
    before(row, other) ? ++i : ++j;
  }
  return false;
}

/// Raises ArgumentError if y partially overlaps x.
template <class T>
void expect_apart(Where where, const ConstView<T>& x, const View<T>& y) {
  const bool same = x.data() == y.data() && x.rows() == y.rows() && x.cols() == y.cols() &&
                    (x.rows() <= 1 || x.outerStride() == y.outerStride());
  require<ArgumentError>(same || !overlap<T>(x, y), where, ": y partially overlaps x, ", x.rows(), " × ", x.cols(),
                         ", and would overwrite unread input. Use separate memory, or y = x.");
}

/// A mutable view of the caller's read-only matrix, for a run's input. Casting const away is safe: the run never writes to it.
template <class T>
MatrixView<T> input_view(const ConstView<T>& x) {
  return {const_cast<T*>(x.data()), x.rows(), x.cols(), x.outerStride()};
}

}  // namespace gated
