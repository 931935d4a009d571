#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "gated/core/matrix.hpp"
#include "gated/core/rounded.hpp"

/// @file
/// Linear interpolation along an axis and over a grid.

namespace gated::detail {

/// The centre of new cell i, in coordinates where the centre of old cell j is at j. Old and new cells divide the same axis:
/// x(i) = (i + 1/2) · old_size / new_size - 1/2, clamped at the ends (align_corners = false).
inline double place_on_axis(Index i, Index old_size, Index new_size) {
  const double ratio = static_cast<double>(old_size) / static_cast<double>(new_size);
  return std::clamp(rounded((static_cast<double>(i) + 0.5) * ratio) - 0.5, 0.0, static_cast<double>(old_size - 1));
}

/// An old cell that a new cell reads, and its interpolation weight.
struct Tap {
  Index cell;
  double share;
};

/// The two old cells whose centres enclose the centre of new cell i.
inline std::array<Tap, 2> linear_taps(Index i, Index old_size, Index new_size) {
  const double x = place_on_axis(i, old_size, new_size);
  const auto low = static_cast<Index>(x);
  const double share = x - static_cast<double>(low);
  return {Tap{low, 1 - share}, Tap{std::min(low + 1, old_size - 1), share}};
}

/// Linear interpolation as a new_size × old_size matrix: A[i, j] = max(0, 1 - |x(i) - j| / reach), with x(i) from
/// place_on_axis(). With reach = 1, rows sum to 1.
template <class T>
Matrix<T> interpolation(Index old_size, Index new_size, double reach = 1) {
  Matrix<T> a(new_size, old_size);
  for (Index i = 0; i < new_size; ++i) {
    const double x = place_on_axis(i, old_size, new_size);
    for (Index j = 0; j < old_size; ++j) {
      a(i, j) = static_cast<T>(std::max(0.0, 1 - std::abs(x - static_cast<double>(j)) / reach));
    }
  }
  return a;
}

/// Kronecker product: applies `down` along the columns of a grid and `across` along its rows.
template <class T>
Matrix<T> on_grid(const Matrix<T>& down, const Matrix<T>& across) {
  Matrix<T> product(down.rows() * across.rows(), down.cols() * across.cols());
  for (Index i = 0; i < down.rows(); ++i) {
    for (Index j = 0; j < down.cols(); ++j) {
      product.block(i * across.rows(), j * across.cols(), across.rows(), across.cols()) = down(i, j) * across;
    }
  }
  return product;
}

}  // namespace gated::detail
