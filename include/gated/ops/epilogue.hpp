#pragma once

#include <type_traits>
#include <utility>

#include "gated/core/matrix_view.hpp"
#include "gated/ops/activation.hpp"

/// @file
/// Operations fused into a product, applied before it is stored.

namespace gated {

/// A kernel that computes activation(z) and activation'(z) of a tile. Only recording runs refer to it, so programs without
/// training do not compile derivatives.
template <class T>
using DerivativeKernel = void (*)(Activation activation, const T* tile, Index stride, const T* bias, Index rows, Index columns,
                                  T* to, Index to_stride, T* derivative, Index derivative_stride);

namespace detail {

/// The matrix type of an epilogue: the run's, or a MatrixView if `Run` is a scalar type.
template <class Run>
struct EpilogueOf {
  using Scalar = typename Run::Scalar;
  using Matrix = typename Run::Matrix;
};
template <>
struct EpilogueOf<float> {
  using Scalar = float;
  using Matrix = MatrixView<const float>;
};
template <>
struct EpilogueOf<double> {
  using Scalar = double;
  using Matrix = MatrixView<const double>;
};

/// The type of a part that epilogues in a run lack: nothing converts to it.
struct OnlyForMatricesInMemory {
  constexpr OnlyForMatricesInMemory() {}
};

/// `value` in the epilogue of a product of matrices in memory; in a run, a part without values.
template <class Of, class X>
constexpr auto in_memory(X value) {
  if constexpr (std::is_floating_point_v<Of>) {
    return value;
  } else {
    return OnlyForMatricesInMemory();
  }
}
template <class Of, class X>
using InMemory = decltype(in_memory<Of>(std::declval<X>()));

}  // namespace detail

/// Operations applied to a product a · b before it is stored as y; every part is optional:
///
///     z = factor · (a · b) + bias_j + row_bias_i + added_ij
///     y = activation(z) ⊙ gate_ij + residual_ij · residual_scale_j
///
/// The operations are applied in the order of these formulas. A scale per column, the same for all rows, may replace the gate.
///
/// `Of` is a run in a layer's body, as in `run(linear, x, {.activation = Activation::gelu})`. For matrices in memory it is a
/// scalar type, as in `matmul(x, transposed(weight), y, workspace, {.bias = b.data()})`. In a run, scales are trainable
/// parameters, and y may overwrite a gate, residual or `added` that is moved in. Training applies residual dropout and
/// stochastic depth before it adds the residual.
/// Shapes: `added`, `gate`, `residual` and `saved` have y's shape; biases and scales have a value per column or row of y. y may
/// use the memory of `added`, the gate or the residual.
template <class Of>
struct Epilogue {
  using T = typename detail::EpilogueOf<Of>::Scalar;
  using Matrix = typename detail::EpilogueOf<Of>::Matrix;

  template <class X>
  using InMemory = detail::InMemory<Of, X>;  // X for matrices in memory; a run has no such part

  InMemory<T> factor = detail::in_memory<Of>(T{1});  ///< multiplies the product
  InMemory<const T*> bias = {};                      ///< per column, for a channel projection
  InMemory<const T*> row_bias = {};                  ///< per row, for a spatial projection
  Matrix added = {};                                 ///< added before the activation
  Activation activation = Activation::identity;      ///< applied to z
  Matrix gate = {};                                  ///< multiplies activation(z)
  const T* scale = nullptr;                          ///< per column, instead of a gate
  Matrix residual = {};                              ///< added last
  const T* residual_scale = nullptr;                 ///< per column, multiplies the residual
  double drop_path = 0;  ///< probability that a training step drops the branch: stochastic depth. In a Stack; outside of one,
                         ///< only with TapeOptions::scaled_depth
  InMemory<MatrixView<T>> saved = {};                         ///< receives z, for a backward pass
  InMemory<DerivativeKernel<T>> derivative_kernel = {};       ///< if set, `saved` receives activation'(z), not z
  InMemory<Index> wanted = detail::in_memory<Of>(Index{-1});  ///< if ≥ 0, only columns 0 … wanted + i of row i are needed; the
                                                              ///< others may keep old values

  /// True if there is nothing to apply.
  /// Errors: ArgumentError if a matrix was moved from: a run without a tape would silently leave it out.
  bool is_plain() const {
    expect_not_moved("added matrix", added);
    expect_not_moved("gate", gate);
    expect_not_moved("residual", residual);
    return !added && !saves() && !residual;
  }
  /// Raises ArgumentError if both gate and scale are given.
  void expect_one_gate() const {
    require<ArgumentError>(!gate || scale == nullptr, "Epilogue: gate and scale are both given, expected one of them.");
  }
  /// True if the backward pass needs z or activation'(z), that is, if there is an activation, a gate or a scale.
  bool saves() const { return activation != Activation::identity || gate || scale != nullptr; }
  /// True if the backward pass needs activation'(z) but not z, because nothing multiplies activation(z).
  bool saves_derivative() const { return saves() && !gate && scale == nullptr; }

  /// The epilogue of the `rows` × `columns` block of y at (row, column).
  Epilogue block(Index row, Index column, Index rows, Index columns) const {
    const auto from = [](const T* numbers, Index first) { return numbers == nullptr ? nullptr : numbers + first; };
    Epilogue part = *this;
    part.bias = from(bias, column);
    part.row_bias = from(row_bias, row);
    const auto cut = [=](auto& x) {
      if (x) {
        x = x.block(row, column, rows, columns);
      }
    };
    cut(part.added);
    cut(part.gate);
    part.scale = from(scale, column);
    cut(part.residual);
    part.residual_scale = from(residual_scale, column);
    cut(part.saved);
    part.wanted = -1;  // the whole block
    return part;
  }

 private:
  static void expect_not_moved(const char* part, const Matrix& x) {
    if constexpr (requires { x.is_moved_from(); }) {
      require<ArgumentError>(!x.is_moved_from(), "Epilogue: the ", part,
                             " was moved from. Move a matrix only where it is used last.");
    }
  }
};

}  // namespace gated
