#pragma once

#include "gated/core/compiler.hpp"

#include <Eigen/Core>
#include <concepts>
#include <type_traits>

#include "gated/core/alignment.hpp"
#include "gated/core/error.hpp"

/// @file
/// Matrices of tokens × channels, and views of them.
///
/// Row-major: a row is a token (or an image, or a patch) with contiguous channels. A linear layer's weight is out ×
/// in, as in the checkpoint. `T` is `float` or `double`; sizes are set at run time.
///
/// Arguments are views (`Eigen::Ref`): one instantiation per scalar type serves matrices, maps and blocks. Caution: a
/// `ConstView` of a column-major Eigen matrix compiles, but copies the matrix. Keep token matrices in `Matrix`.

static_assert(EIGEN_VERSION_AT_LEAST(3, 4, 0), "gated needs Eigen 3.4 or newer (Debian: libeigen3-dev)");

namespace gated {

/// Sizes and positions: signed, as in Eigen.
using Index = Eigen::Index;

/// Fails to compile unless T is float or double.
template <class T>
constexpr bool computes_in() {
  static_assert(std::same_as<T, float> || std::same_as<T, double>, "gated computes only in float and double");
  return true;
}

/// Tokens × channels, row-major.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A column vector: a bias, a scale.
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// A writable view of a matrix, block or map.
template <class T>
using View = Eigen::Ref<Matrix<T>>;
/// A read-only view of a matrix, block or map.
template <class T>
using ConstView = Eigen::Ref<const Matrix<T>>;
/// An argument whose ConstView<T> would dangle: a temporary matrix, or one that Eigen would copy to a temporary, such as an
/// expression, a transpose or a column-major matrix.
template <class M, class T>
concept Fleeting = std::derived_from<std::remove_cvref_t<M>, Eigen::DenseBase<std::remove_cvref_t<M>>> &&
    (!Eigen::internal::traits<ConstView<T>>::template match<std::remove_cvref_t<M>>::MatchAtCompileTime ||
     (!std::is_lvalue_reference_v<M> &&
      std::derived_from<std::remove_cvref_t<M>, Eigen::PlainObjectBase<std::remove_cvref_t<M>>>));

/// A matrix view of memory owned elsewhere, usually by a Workspace. The row stride may exceed the row length.
template <class T>
using MatrixMap = Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// The size of a cache line on all common machines.
inline constexpr Index cache_line_bytes = 64;

/// If the row stride is a multiple of this many bytes, all rows compete for the same few L1 cache lines on common machines.
inline constexpr Index crowding_bytes = 4096;

/// True if rows with a stride of `stride` elements compete for cache lines. A matmul is then slower.
template <class T>
constexpr bool crowds(Index stride) {
  return stride > 0 && stride * static_cast<Index>(sizeof(T)) % crowding_bytes == 0;
}

/// The row stride of a scratch matrix in elements: `columns`, plus one cache line if crowds(columns).
template <class T>
constexpr Index row_stride(Index columns) {
  return crowds<T>(columns) ? columns + cache_line_bytes / static_cast<Index>(sizeof(T)) : columns;
}

/// Raises ShapeError unless `x` has `expected` columns: `"Linear::forward: x has 5 columns, expected in = 4"`.
template <class T>
void expect_columns(Where where, const char* name, const ConstView<T>& x, const char* dimension, Index expected) {
  require<ShapeError>(x.cols() == expected, where, ": ", name, " has ", x.cols(), " columns, expected ", dimension, " = ",
                      expected, " (a matrix is tokens × channels, one row per token).");
}

/// Raises ShapeError unless `rows` tokens from position `first` fit into `capacity`. `rest` is the last part of the
/// message: `"GmlpBlock::extend: 3 tokens from position 6 exceed the 8 tokens …"`. `remedy` follows it.
inline void expect_positions(Where where, Index rows, Index first, Index capacity, const char* rest, const char* remedy = "") {
  require<ShapeError>(first >= 0 && first <= capacity && rows <= capacity - first, where, ": ", rows, " tokens from position ",
                      first, " exceed the ", capacity, " tokens ", rest, remedy);
}

/// Raises ShapeError unless `y` is rows × columns. Outputs are never resized.
template <class T>
void expect_shape(Where where, const char* name, const View<T>& y, Index rows, Index columns) {
  require<ShapeError>(y.rows() == rows && y.cols() == columns, where, ": ", name, " is ", y.rows(), " × ", y.cols(),
                      ", expected ", rows, " × ", columns, ". Outputs are written in place and never resized.");
}

}  // namespace gated
