#pragma once

#include <cmath>

#include "gated/core/parameters.hpp"
#include "gated/core/random.hpp"
#include "gated/ops/matmul.hpp"

/// @file
/// The channel projection.

namespace gated {

/// y = x Wᵀ + b, token by token: the U and V of the gMLP paper (arXiv:2105.08050, §2).
///
/// Shapes: x is N × in, y is N × out, weight is out × in as in the file. A layer made without bias has an empty one.
/// Errors: ShapeError. Cost: 2·N·in·out flops.
template <class T>
struct Linear {
  using Scalar = T;

  Matrix<T> weight;  ///< out × in
  Vector<T> bias;    ///< out, or empty

  Linear() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  Linear(Index in, Index out, bool with_bias = true) {
    require<ArgumentError>(in > 0 && out > 0, "Linear: in = ", in, " and out = ", out, " must be positive.");
    weight = Matrix<T>::Zero(out, in);
    bias = Vector<T>::Zero(with_bias ? out : 0);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &Linear::weight, Role::weight), field("bias", &Linear::bias, Role::bias)};
  }

  Index in() const { return weight.cols(); }
  Index out() const { return weight.rows(); }

  /// Xavier-uniform weight and a bias of N(0, 1e-6): timm's start for the projections of an MLP.
  void initialize(Random& random) {
    fill_uniform(weight, std::sqrt(6.0 / static_cast<double>(in() + out())), random);
    fill_normal(bias, 1e-6, random);
  }

  /// y = stages(x Wᵀ + b), the stages of ops/epilogue.hpp fused into the product.
  template <class... Stages>
  void forward(ConstView<T> x, View<T> y, Workspace<T>& workspace, const Stages&... stages) const {
    expect_columns<T>("Linear::forward", "x", x, "in", in());
    expect_shape<T>("Linear::forward", "y", y, x.rows(), out());
    if (workspace.observed()) {  // an observer sees the layer alone, before what is fused behind it
      const auto frame = workspace.frame();
      MatrixMap<T> alone = workspace.matrix(x.rows(), out());
      matmul<T>(x, transposed<T>(weight), alone, workspace, AddBias<T>(bias));
      workspace.show(alone);
    }
    matmul<T>(x, transposed<T>(weight), y, workspace, AddBias<T>(bias), stages...);
  }

  /// x Wᵀ + b, into a new matrix.
  Matrix<T> forward(ConstView<T> x, Workspace<T>& workspace) const {
    Matrix<T> y(x.rows(), out());
    forward(x, y, workspace);
    return y;
  }
};

}  // namespace gated
