#pragma once

#include "gated/core/matrix_view.hpp"
#include "gated/ops/activation.hpp"

/// @file
/// What is applied to a product before it is stored.

namespace gated {

/// The kernel that activates a tile and keeps the derivative. Only recorded products name it, so inference does not compile
/// derivatives.
template <class T>
using DerivativeKernel = void (*)(Activation activation, const T* tile, Index stride, const T* bias, Index rows, Index columns,
                                  T* to, Index to_stride, T* derivative, Index derivative_stride);

namespace detail {

/// The matrices of an epilogue: of a run, or with a scalar in its place rows in memory.
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

}  // namespace detail

/// Applied to a product a · b before it is stored as y; every part is optional:
///
///     z = factor · (a · b) + bias_j + row_bias_i + added_ij
///     y = activation(z) ⊙ gate_ij + residual_ij · residual_scale_j
///
/// in this order. Instead of a gate there may be a scale per column, the same for all rows. `Of` is a run, in the body of a
/// layer, `run(linear, x, {.activation = Activation::gelu})`, or a scalar, `matmul(x, transposed(weight), y, workspace, {.bias
/// = b.data()})`. In a run, scales are parameters and receive gradients, a matrix that is moved in may be overwritten by y, and
/// training applies residual dropout and stochastic depth to what the residual is added to.
/// Shapes: added, gate, residual and kept are those of y; biases and scales have a number per column or row of it. y may be the
/// gate's or the residual's memory.
template <class Of>
struct Epilogue {
  using T = typename detail::EpilogueOf<Of>::Scalar;
  using Matrix = typename detail::EpilogueOf<Of>::Matrix;

  T factor = T{1};                               ///< of the product; not in a run
  const T* bias = nullptr;                       ///< per column: of a channel projection; not in a run
  const T* row_bias = nullptr;                   ///< per row: of a spatial projection; not in a run
  Matrix added = {};                             ///< before the activation
  Activation activation = Activation::identity;  ///< of z
  Matrix gate = {};                              ///< multiplied with
  const T* scale = nullptr;                      ///< per column, in the gate's place
  Matrix residual = {};                          ///< added at last
  const T* residual_scale = nullptr;             ///< per column, of the residual
  double drop_path = 0;     ///< the probability that training drops what a residual is added to, per sequence
  MatrixView<T> kept = {};  ///< receives z, for a backward pass
  DerivativeKernel<T> derivative_kernel = nullptr;  ///< makes kept receive activation'(z) in place of z
  Index wanted = -1;  ///< ≥ 0: only the columns up to wanted + i of row i are needed; the others may
                      ///< keep their old values

  bool is_plain() const { return !added && !keeps() && !residual; }
  /// What the backward pass through activation, gate and scale must know.
  bool keeps() const { return activation != Activation::identity || gate || scale != nullptr; }
  /// Of these, activation'(z) alone where nothing multiplies activation(z).
  bool keeps_derivative() const { return keeps() && !gate && scale == nullptr; }

  /// The epilogue of `rows` × `columns` of y from (row, column) on.
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
    cut(part.kept);
    part.wanted = -1;  // all of it
    return part;
  }
};

}  // namespace gated
