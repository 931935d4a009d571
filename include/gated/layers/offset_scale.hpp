#pragma once

#include "gated/core/parameters.hpp"
#include "gated/core/random.hpp"
#include "gated/ops/norm.hpp"

/// @file
/// Queries and keys from one shared projection.

namespace gated {

/// y = x ⊙ weight_i + bias_i: row i makes one of several queries or keys from the same x (arXiv:2202.10447, §2.2).
///
/// Shapes: x and y are N × S. Cost: O(N·S).
template <class T>
struct OffsetScale {
  using Scalar = T;

  Matrix<T> weight;  ///< rows × S, starts at N(0, 0.02²)
  Matrix<T> bias;    ///< rows × S, or empty

  OffsetScale() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  OffsetScale(Index rows, Index width, bool with_bias) {
    require<ArgumentError>(rows >= 0 && width >= 0, "OffsetScale: ", rows, " rows of ", width, " must not be negative.");
    weight = Matrix<T>::Zero(rows, width);
    bias = Matrix<T>::Zero(with_bias ? rows : 0, with_bias ? width : 0);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &OffsetScale::weight, Role::norm), field("bias", &OffsetScale::bias, Role::norm)};
  }

  /// N(0, 0.02²) for the weight.
  void initialize(Random& random) { fill_normal(weight, 0.02, random); }

  /// y, of row `row`. Errors: ArgumentError for a row that there is not, ShapeError.
  void forward(Index row, ConstView<T> x, View<T> y, const Workspace<T>& workspace) const {
    require<ArgumentError>(row >= 0 && row < weight.rows(), "OffsetScale::forward: row ", row, ", expected 0 … ",
                           weight.rows() - 1, ".");
    expect_columns<T>("OffsetScale::forward", "x", x, "width", weight.cols());
    expect_shape<T>("OffsetScale::forward", "y", y, x.rows(), x.cols());
    const T* const scale = &weight.coeffRef(row, 0);
    const T* const shift = bias.size() == 0 ? nullptr : &bias.coeffRef(row, 0);
    for_each_row(x.rows(), workspace, [&](Index i) {
      for_each_vector<T>(x.cols(), [&](Index j, Index lanes) {
        Simd<T> value = Simd<T>::load(&x.coeffRef(i, j), lanes) * Simd<T>::load(scale + j, lanes);
        value = shift == nullptr ? value : value + Simd<T>::load(shift + j, lanes);
        value.store(&y.coeffRef(i, j), lanes);
      });
    });
  }
};

}  // namespace gated
