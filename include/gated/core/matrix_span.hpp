#pragma once

#include <span>
#include <type_traits>

#include "gated/core/count.hpp"
#include "gated/core/matrix_view.hpp"

#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

/// @file
/// Matrices without Eigen.

namespace gated {

/// A row-major matrix in the caller's memory, to pass to forward() or extend():
///
///     std::vector<float> pixels(8 * 784), scores(8 * 10);
///     model.forward({pixels, 8, 784}, {scores, 8, 10}, workspace);
///
/// `T` is const for a read-only matrix. If the standard library has std::mdspan, an mdspan of rank 2 converts implicitly.
/// Errors: ArgumentError for a negative size; ShapeError if the span does not have rows × columns elements, or if the rows of
/// an mdspan overlap or are not contiguous.
template <class T>
class MatrixSpan {
 public:
  MatrixSpan(std::span<T> data, Index rows, Index columns) : view_(data.data(), rows, columns, columns) {
    require<ArgumentError>(rows >= 0 && columns >= 0, "MatrixSpan: the matrix is ", rows, " × ", columns,
                           ", expected no negative size.");
    require<ShapeError>(static_cast<Index>(data.size()) == (Count(rows) * columns).value(), "MatrixSpan: the span has ",
                        data.size(), " elements, expected ", rows, " × ", columns, " = ", (Count(rows) * columns).value(), ".");
  }
#if defined(__cpp_lib_mdspan)
  template <class U, class Extents, class Layout>
  requires(Extents::rank() == 2 && std::is_convertible_v<U (*)[], T (*)[]>) MatrixSpan(const std::mdspan<U, Extents, Layout>& x)
      : view_(x.data_handle(), static_cast<Index>(x.extent(0)), static_cast<Index>(x.extent(1)),
              static_cast<Index>(x.extent(0) > 1 ? x.stride(0) : x.extent(1))) {
    require<ShapeError>(x.extent(1) <= 1 || x.stride(1) == 1, "MatrixSpan: the columns of the mdspan are ", x.stride(1),
                        " elements apart, expected 1: rows must be contiguous. Use std::layout_right.");
    require<ShapeError>(x.extent(0) <= 1 || x.stride(0) >= x.extent(1), "MatrixSpan: the rows of the mdspan are ", x.stride(0),
                        " elements apart, expected at least ", x.extent(1), ".");
  }
#endif

  operator MatrixView<T>() const { return view_; }
  operator View<std::remove_const_t<T>>() const requires(!std::is_const_v<T>) { return view_; }
  operator ConstView<std::remove_const_t<T>>() const { return view_; }

 private:
  MatrixView<T> view_;
};

}  // namespace gated
