#pragma once

#include <cmath>

#include "gated/ops/norm.hpp"

/// @file
/// Norms without a mean: ScaleNorm in its two published forms, and RMS norm.

namespace gated {

/// What ‖x‖ is kept from vanishing by.
enum class ScaleNormForm {
  clamped,  ///< x / max(‖x‖ / √C, eps) · g: lucidrains, mmpose
  rsqrt     ///< x / √(‖x‖² / C + eps) · g: the FLASH paper, JunnYu; with g = 1 the RMS norm of GAU-α
};

/// What a row is divided by.
template <class T>
struct RowSize {
  T size;
  bool clamped;  ///< it is eps, whatever the row
};

/// Squares are taken of numbers scaled by a power of two, so that nothing overflows for any finite x whose mean square is
/// finite.
template <class T>
RowSize<T> row_size(const T* row, Index channels, double eps, ScaleNormForm form) {
  Simd<T> largest(T{0});
  for_each_vector<T>(channels, [&](Index j, Index lanes) { largest = max(largest, abs(Simd<T>::load(row + j, lanes))); });
  const T peak = largest.largest();
  const T down = std::isfinite(peak) && peak > T{0} ? std::ldexp(T{1}, -std::clamp(std::ilogb(peak), -100, 100)) : T{1};

  const T squares = sum_of_row<T>(channels, [&](Simd<T> sum, Index j, Index lanes) {
    const Simd<T> small = Simd<T>::load(row + j, lanes) * Simd<T>(down);
    return fma(small, small, sum);
  });
  const T mean_square = squares / static_cast<T>(channels);  // of the scaled numbers
  const T epsilon = static_cast<T>(eps);
  if (form == ScaleNormForm::rsqrt) {
    return {std::sqrt(mean_square / down / down + epsilon), false};
  }
  const T root = std::sqrt(mean_square) / down;
  return {std::max(root, epsilon), root < epsilon};
}

/// y = x / (root mean square of x) · gain, row by row.
///
/// Shapes: x and y are N × C; y may be x. Cost: three passes over a row in cache.
template <class T>
void scale_norm(const ConstView<T>& x, T gain, double eps, ScaleNormForm form, View<T> y, const Workspace<T>& workspace) {
  const Index channels = x.cols();
  for_each_row(x.rows(), workspace, [&](Index row) {
    const T* const from = x.data() + row * x.outerStride();
    T* const to = y.data() + row * y.outerStride();
    const Simd<T> factor(gain / row_size(from, channels, eps, form).size);
    for_each_vector<T>(channels, [&](Index j, Index lanes) { (Simd<T>::load(from + j, lanes) * factor).store(to + j, lanes); });
  });
}

}  // namespace gated
