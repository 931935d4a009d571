#pragma once

#include "gated/core/matrix.hpp"
#include "gated/ops/activation.hpp"
#include "gated/ops/simd.hpp"

/// @file
/// What can be done to a product before it is stored. The stages are arguments of matmul(), applied in the order given.
///
/// A stage is any function object `Simd<T> operator()(Position, Simd<T>) const`. Those that read memory hold a pointer only,
/// and are checked where they are made.

namespace gated {

/// Which elements a vector of a product holds: row `row`, columns `column` … `column + lanes - 1`.
struct Position {
  Index row, column, lanes;
};

/// value + bias_j: the bias of a channel projection. An empty bias adds nothing.
template <class T>
struct AddBias {
  const T* bias;

  explicit AddBias(const Vector<T>& b) : bias(b.size() == 0 ? nullptr : b.data()) {}
  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const {
    return bias == nullptr ? value : value + Simd<T>::load(bias + at.column, at.lanes);
  }
};

/// value + bias_i: the bias of a spatial projection, one per token.
template <class T>
struct AddRowBias {
  const T* bias;

  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const { return value + Simd<T>(bias[at.row]); }
};

/// value · factor.
template <class T>
struct Scale {
  T factor;

  EIGEN_STRONG_INLINE Simd<T> operator()(Position, Simd<T> value) const { return value * Simd<T>(factor); }
};

/// activation(value), at most one in a list of stages.
///
/// matmul() applies it to a whole tile, together with a bias before it, in one loop per activation, however many lists of
/// stages a program has.
struct Activate {
  Activation activation;
};

/// value + x_ij: a residual, a bias matrix, or what the destination already holds.
template <class T>
struct Add {
  const T* data;
  Index stride;

  explicit Add(const ConstView<T>& x) : data(x.data()), stride(x.outerStride()) {}
  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const {
    return value + Simd<T>::load(data + at.row * stride + at.column, at.lanes);
  }
};

/// value + x_ij · scale_j: a residual with a learned scale per channel.
template <class T>
struct AddScaled {
  const T* data;
  Index stride;
  const T* scale;

  AddScaled(const ConstView<T>& x, const Vector<T>& scale_) : data(x.data()), stride(x.outerStride()), scale(scale_.data()) {}
  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const {
    return fma(Simd<T>::load(data + at.row * stride + at.column, at.lanes), Simd<T>::load(scale + at.column, at.lanes), value);
  }
};

/// value ⊙ x_ij: gating.
template <class T>
struct Multiply {
  const T* data;
  Index stride;

  explicit Multiply(const ConstView<T>& x) : data(x.data()), stride(x.outerStride()) {}
  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const {
    return value * Simd<T>::load(data + at.row * stride + at.column, at.lanes);
  }
};

/// A stage that sees positions of a larger matrix, of which the product is a block at (row, column). Made by shifted().
template <class Stage>
struct Shifted {
  Stage stage;
  Index row, column;

  template <class T>
  EIGEN_STRONG_INLINE Simd<T> operator()(Position at, Simd<T> value) const {
    return stage(Position{at.row + row, at.column + column, at.lanes}, value);
  }
};

template <class Stage>
Shifted<Stage> shifted(const Stage& stage, Index row, Index column) {
  return {stage, row, column};
}
inline Activate shifted(const Activate& stage, Index, Index) { return stage; }

}  // namespace gated
