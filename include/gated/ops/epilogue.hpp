#pragma once

#include "gated/core/rows.hpp"
#include "gated/ops/activation.hpp"

/// @file
/// What is applied to a product before it is stored.

namespace gated {

/// The kernel that activates a tile and keeps the slope. Only products that are recorded name it, so that no other program
/// compiles derivatives.
template <class T>
using SlopeKernel = void (*)(Activation activation, const T* tile, Index stride, const T* bias, Index rows, Index columns,
                             T* to, Index to_stride, T* slope, Index slope_stride);

/// What is applied to a product a · b before it is stored as y, each part absent unless it is given:
///
///     z = scale · (a · b) + bias_j + row_bias_i + added_ij
///     y = activation(z) ⊙ gate_ij + residual_ij · residual_scale_j
///
/// in this order. Given to matmul() by designated initialisers: `{.bias = b.data(), .activation = Activation::gelu}`.
/// Shapes: added, gate, residual and kept are those of y; biases and scales have a number per column or row of it. y may be the
/// gate's or the residual's memory.
template <class T>
struct Epilogue {
  T scale = T{1};                                ///< of the product
  const T* bias = nullptr;                       ///< per column: of a channel projection
  const T* row_bias = nullptr;                   ///< per row: of a spatial projection
  Rows<const T> added = {};                      ///< before the activation
  Activation activation = Activation::identity;  ///< of z
  Rows<const T> gate = {};                       ///< multiplied with
  Rows<const T> residual = {};                   ///< added at last
  const T* residual_scale = nullptr;             ///< per column, of the residual
  Rows<T> kept = {};                             ///< receives z, for a backward pass
  SlopeKernel<T> slope_kernel = nullptr;         ///< makes kept receive activation'(z) in place of z
  Index wanted = -1;                             ///< ≥ 0: of row i only the columns up to wanted + i are asked for; what lies
                                                 ///< beyond them may be left as it is, and its product uncomputed

  /// The epilogue of `rows` × `columns` of y from (row, column) on.
  Epilogue block(Index row, Index column, Index rows, Index columns) const {
    Epilogue part = *this;
    part.bias = bias == nullptr ? nullptr : bias + column;
    part.row_bias = row_bias == nullptr ? nullptr : row_bias + row;
    part.added = added.block(row, column, rows, columns);
    part.gate = gate.block(row, column, rows, columns);
    part.residual = residual.block(row, column, rows, columns);
    part.residual_scale = residual_scale == nullptr ? nullptr : residual_scale + column;
    part.kept = kept.block(row, column, rows, columns);
    part.wanted = -1;  // all of it
    return part;
  }
};

}  // namespace gated
