#pragma once

#include "gated/core/compiler.hpp"

#include <Eigen/Core>
#include <concepts>
#include <type_traits>

#include "gated/core/alignment.hpp"
#include "gated/core/error.hpp"

/// @file
/// The numbers: matrices of tokens × channels, and views of them.
///
/// Everything is row-major: a row is a token (or an image, or a patch) and its channels lie next to each other. A linear
/// layer's weight is out × in, as it is in the checkpoint. `T` is `float` or `double`; sizes are run-time values.
///
/// Arguments are views, `Eigen::Ref`, so that one instantiation per scalar serves matrices, maps and blocks alike. One trap:
/// a `ConstView` of a column-major Eigen matrix compiles, by copying it. Keep token matrices in `Matrix`.

static_assert(EIGEN_VERSION_AT_LEAST(3, 4, 0), "gated needs Eigen 3.4 or newer (Debian: libeigen3-dev)");

namespace gated {

/// Counts and positions: signed, as in Eigen.
using Index = Eigen::Index;

/// Refuses scalars that no kernel is written for.
template <class T>
constexpr bool computes_in() {
  static_assert(std::same_as<T, float> || std::same_as<T, double>,
                "gated computes in float and in double, and in no other scalar");
  return true;
}

/// Tokens × channels, row by row.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A column of numbers: a bias, a scale.
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// A matrix that is written to, wherever it lies.
template <class T>
using View = Eigen::Ref<Matrix<T>>;
/// A matrix that is read only, wherever it lies.
template <class T>
using ConstView = Eigen::Ref<const Matrix<T>>;
/// What a function cannot keep a ConstView<T> of: a temporary matrix, and what Eigen copies to view it,
/// such as an expression, a transpose or a column-major matrix. For deleted overloads.
template <class M, class T>
concept Fleeting = std::derived_from<std::remove_cvref_t<M>, Eigen::DenseBase<std::remove_cvref_t<M>>> &&
    (!Eigen::internal::traits<ConstView<T>>::template match<std::remove_cvref_t<M>>::MatchAtCompileTime ||
     (!std::is_lvalue_reference_v<M> &&
      std::derived_from<std::remove_cvref_t<M>, Eigen::PlainObjectBase<std::remove_cvref_t<M>>>));

/// A matrix whose memory belongs to somebody else, usually a Workspace. Its rows may lie further apart than they are long.
template <class T>
using MatrixMap = Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// The bytes that a processor fetches at once, on all usual machines.
inline constexpr Index cache_line_bytes = 64;

/// Rows that lie this many bytes apart compete for the same few lines of a first-level cache, on all usual machines.
inline constexpr Index crowding_bytes = 4096;

/// True if a product that reads rows `stride` elements apart side by side would lose about a quarter of its speed.
template <class T>
constexpr bool crowds(Index stride) {
  return stride > 0 && stride * static_cast<Index>(sizeof(T)) % crowding_bytes == 0;
}

/// Elements from one row of a scratch matrix to the next: its columns, and a cache line more where the rows would crowd.
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

/// Raises ShapeError unless `rows` tokens from position `first` on fit among `capacity`: `"GmlpBlock::extend: 3 tokens from
/// position 6 on go past the 8 tokens that …"`, the rest being the caller's.
inline void expect_positions(Where where, Index rows, Index first, Index capacity, const char* rest) {
  require<ShapeError>(first >= 0 && first <= capacity && rows <= capacity - first, where, ": ", rows, " tokens from position ",
                      first, " on go past the ", capacity, " tokens ", rest);
}

/// Raises ShapeError unless `y` is rows × columns. Outputs are never resized.
template <class T>
void expect_shape(Where where, const char* name, const View<T>& y, Index rows, Index columns) {
  require<ShapeError>(y.rows() == rows && y.cols() == columns, where, ": ", name, " is ", y.rows(), " × ", y.cols(),
                      ", expected ", rows, " × ", columns, ". Outputs are written in place and never resized.");
}

}  // namespace gated
