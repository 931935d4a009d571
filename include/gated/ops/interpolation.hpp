#pragma once

#include <algorithm>
#include <cmath>

#include "gated/core/matrix.hpp"

/// @file
/// Linear interpolation along an axis and over a grid, as matrices.

namespace gated::detail {

/// Linear interpolation between the centres of cells, clamped at the ends (align_corners = false): new × old,
/// A[i', j] = max(0, 1 - |x(i') - j| / reach) with x(i') = (i' + 1/2) n / n' - 1/2. With reach = 1 rows add up to one.
template <class T>
Matrix<T> interpolation(Index old_size, Index new_size, double reach = 1) {
  Matrix<T> a(new_size, old_size);
  const double ratio = static_cast<double>(old_size) / static_cast<double>(new_size);
  for (Index i = 0; i < new_size; ++i) {
    const double x = std::clamp((static_cast<double>(i) + 0.5) * ratio - 0.5, 0.0, static_cast<double>(old_size - 1));
    for (Index j = 0; j < old_size; ++j) {
      a(i, j) = static_cast<T>(std::max(0.0, 1 - std::abs(x - static_cast<double>(j)) / reach));
    }
  }
  return a;
}

/// What acts on a grid as `down` acts on its columns and `across` on its rows.
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
