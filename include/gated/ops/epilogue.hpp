#pragma once

#include <algorithm>

#include "gated/core/rows.hpp"
#include "gated/ops/activation.hpp"
#include "gated/ops/simd.hpp"

/// @file
/// What can be done to a product before it is stored.

namespace gated {

/// What joins a product a · b on its way to y, each part absent unless it is given:
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
  Index wanted = -1;                             ///< ≥ 0: of row i only the columns up to wanted + i are asked for; what lies
                                                 ///< beyond them may be left as it is, and its product uncomputed

  /// What joins `rows` × `columns` of y from (row, column) on.
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

namespace detail {

/// The two vectors of a row of a tile. The second may be empty, and both may be partial.
template <class T>
struct TileRow {
  Simd<T> left, right;

  static EIGEN_STRONG_INLINE TileRow load(const T* from) {
    return {Simd<T>::load(from), Simd<T>::load(from + Simd<T>::width)};
  }
  static EIGEN_STRONG_INLINE TileRow load(const T* from, Index columns) {
    constexpr Index width = Simd<T>::width;
    if (columns == 2 * width) [[likely]] {
      return load(from);
    }
    const Index lanes = std::min(columns, width);
    return {Simd<T>::load(from, lanes), columns > width ? Simd<T>::load(from + width, columns - width) : Simd<T>(T{0})};
  }
  EIGEN_STRONG_INLINE void store(T* to, Index columns) const {
    constexpr Index width = Simd<T>::width;
    if (columns == 2 * width) [[likely]] {
      left.store(to);
      right.store(to + width);
      return;
    }
    left.store(to, std::min(columns, width));
    if (columns > width) {
      right.store(to + width, columns - width);
    }
  }
};

/// to ← activation(tile + bias) for a tile of rows × columns. `bias` may be nullptr, and `to` the tile itself.
template <class T>
EIGEN_DONT_INLINE void activate_tile(Activation activation, const T* tile, const T* bias, Index rows, Index columns, T* to,
                                     Index to_stride) {
  constexpr Index width = Simd<T>::width;
  const Simd<T> nothing(T(-0.0));  // x + -0 is x, whatever its sign
  const auto added = bias == nullptr ? TileRow<T>{nothing, nothing} : TileRow<T>::load(bias, columns);
  with_activation(activation, [&](auto act) {
    for (Index i = 0; i < rows; ++i, tile += 2 * width, to += to_stride) {
      const Simd<T> left = act.value(Simd<T>::load(tile) + added.left);
      const Simd<T> right = columns > width ? act.value(Simd<T>::load(tile + width) + added.right) : added.right;
      TileRow<T>{left, right}.store(to, columns);
    }
  });
}

/// to ← what the epilogue makes of a tile that needs no activation, or whose activation is done.
template <class T>
EIGEN_DONT_INLINE void combine_tile(const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, const T* tile,
                                    T* to, Index to_stride) {
  const Simd<T> nothing(T(-0.0));
  const auto bias = e.bias == nullptr ? TileRow<T>{nothing, nothing} : TileRow<T>::load(e.bias + column, columns);
  const auto at = [&](const auto& x, Index i) { return x.data + (row + i) * x.stride + column; };
  for (Index i = 0; i < rows; ++i, tile += 2 * Simd<T>::width, to += to_stride) {
    auto z = TileRow<T>::load(tile);
    if (e.scale != T{1}) {
      const Simd<T> scale(e.scale);
      z = {z.left * scale, z.right * scale};
    }
    z = {z.left + bias.left, z.right + bias.right};
    if (e.row_bias != nullptr) {
      const Simd<T> b(e.row_bias[row + i]);
      z = {z.left + b, z.right + b};
    }
    if (e.added) {
      const auto added = TileRow<T>::load(at(e.added, i), columns);
      z = {z.left + added.left, z.right + added.right};
    }
    if (e.kept) {
      z.store(at(e.kept, i), columns);
    }
    if (e.gate) {
      const auto gate = TileRow<T>::load(at(e.gate, i), columns);
      z = {z.left * gate.left, z.right * gate.right};
    }
    if (e.residual) {
      const auto x = TileRow<T>::load(at(e.residual, i), columns);
      if (e.residual_scale != nullptr) {
        const auto s = TileRow<T>::load(e.residual_scale + column, columns);
        z = {fma(x.left, s.left, z.left), fma(x.right, s.right, z.right)};
      } else {
        z = {z.left + x.left, z.right + x.right};
      }
    }
    z.store(to, columns);
  }
}

/// to ← the epilogue of a finished tile, which may be overwritten: rows of two vectors.
template <class T>
void finish_tile(const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, T* tile, T* to, Index to_stride) {
  constexpr Index tile_stride = 2 * Simd<T>::width;
  if (e.activation == Activation::identity) {
    return combine_tile(e, row, column, rows, columns, tile, to, to_stride);
  }
  const bool joined = e.gate || e.residual;
  const T* bias = e.bias == nullptr ? nullptr : e.bias + column;
  if (e.scale != T{1} || e.row_bias != nullptr || e.added || e.kept) {
    combine_tile<T>({.scale = e.scale, .bias = e.bias, .row_bias = e.row_bias, .added = e.added, .kept = e.kept}, row, column,
                    rows, columns, tile, tile, tile_stride);
    bias = nullptr;
  }
  if (!joined) {
    return activate_tile(e.activation, tile, bias, rows, columns, to, to_stride);
  }
  activate_tile(e.activation, tile, bias, rows, columns, tile, tile_stride);
  combine_tile<T>({.gate = e.gate, .residual = e.residual, .residual_scale = e.residual_scale}, row, column, rows, columns,
                  tile, to, to_stride);
}

}  // namespace detail

}  // namespace gated
