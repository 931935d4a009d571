#pragma once

#include "gated/core/parameters.hpp"
#include "gated/ops/norm.hpp"

/// @file
/// Layer normalisation with a learned scale and shift.

namespace gated {

/// y = (x - mean(x)) / √(var(x) + eps) ⊙ weight + bias over the channels of each token (arXiv:1607.06450).
///
/// Shapes: x and y are N × C. Errors: ShapeError. Cost: O(N·C).
template <class T>
struct LayerNorm {
  using Scalar = T;

  Vector<T> weight;  ///< C, starts at 1
  Vector<T> bias;    ///< C, starts at 0
  double eps = 1e-5;

  LayerNorm() = default;
  /// A weight of 1 and a bias of 0.
  LayerNorm(Index channels, double eps_) : eps(eps_) {
    require<ArgumentError>(channels > 0 && eps_ >= 0, "LayerNorm: channels = ", channels, " and eps = ", eps_,
                           " must be positive.");
    weight = Vector<T>::Ones(channels);
    bias = Vector<T>::Zero(channels);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &LayerNorm::weight, Role::norm), field("bias", &LayerNorm::bias, Role::norm)};
  }

  Index channels() const { return weight.size(); }

  /// y, which may be x.
  void forward(ConstView<T> x, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("LayerNorm::forward", "x", x, "channels", channels());
    expect_shape<T>("LayerNorm::forward", "y", y, x.rows(), x.cols());
    layer_norm<T>(x, weight, bias, eps, y, workspace);
    workspace.show(y);
  }

  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, Workspace<T>& workspace) const {
    Matrix<T> y(x.rows(), x.cols());
    forward(x, y, workspace);
    return y;
  }
};

}  // namespace gated
