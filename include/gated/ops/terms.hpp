#pragma once

#include "gated/core/matrix.hpp"
#include "gated/ops/dropout.hpp"

/// @file
/// Formulas for each number of a matrix, as data: `reader(dy) * reader(x)`.
///
/// A term says what is read and how it is joined; kernels evaluate it, a vector at a time (ops/kernels/terms.inl). So a formula
/// stands where its op does, and is compiled for each form.

namespace gated {

namespace terms {

/// x_ij in memory; with a stride of 0 x_j, the same for all rows.
template <class T>
struct Read {
  using IsTerm = void;
  const T* data;
  Index stride;
};
/// x_i, the same for all columns.
template <class T>
struct PerRow {
  using IsTerm = void;
  const T* data;
  Index stride;
};
/// The same number everywhere.
template <class T>
struct Number {
  using IsTerm = void;
  T value;
};
/// The numbers of a dropout mask.
template <class T>
struct Mask {
  using IsTerm = void;
  DropoutMask<T> mask;
};
/// a + b.
template <class A, class B>
struct Sum {
  using IsTerm = void;
  A a;
  B b;
};
/// a - b.
template <class A, class B>
struct Difference {
  using IsTerm = void;
  A a;
  B b;
};
/// a · b.
template <class A, class B>
struct Product {
  using IsTerm = void;
  A a;
  B b;
};

}  // namespace terms

/// What the kernels of element-wise loops evaluate.
template <class A>
concept Term = requires {
  typename A::IsTerm;
};

/// x_ij.
template <class T>
terms::Read<T> reader(const ConstView<T>& x) {
  return {x.data(), x.outerStride()};
}
/// x_j: a number per channel.
template <class T>
terms::Read<T> per_channel(const T* x) {
  return {x, 0};
}
/// x_i: a number per row, `stride` apart.
template <class T>
terms::PerRow<T> per_row(const T* x, Index stride = 1) {
  return {x, stride};
}
/// The same number everywhere.
template <class T>
terms::Number<T> number(T value) {
  return {value};
}

namespace terms {  // where a user's code finds them too

/// a + b.
template <Term A, Term B>
Sum<A, B> operator+(const A& a, const B& b) {
  return {a, b};
}
/// a - b.
template <Term A, Term B>
Difference<A, B> operator-(const A& a, const B& b) {
  return {a, b};
}
/// a · b.
template <Term A, Term B>
Product<A, B> operator*(const A& a, const B& b) {
  return {a, b};
}
}  // namespace terms

}  // namespace gated
