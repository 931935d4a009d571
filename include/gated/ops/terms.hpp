#pragma once

#include "gated/core/matrix.hpp"
#include "gated/ops/dropout.hpp"

/// @file
/// Element-wise formulas as data: `reader(dy) * reader(x)`.
///
/// A term is an expression tree of operands and operators; kernels evaluate it a vector at a time (ops/kernels/terms.inl). So a
/// formula is written next to its op, and compiled once per instruction set.

namespace gated {

namespace terms {

/// x_ij in memory; with a stride of 0, x_j in every row.
template <class T>
struct Read {
  using IsTerm = void;
  const T* data;
  Index stride;
};
/// x_i in every column.
template <class T>
struct PerRow {
  using IsTerm = void;
  const T* data;
  Index stride;
};
/// A constant.
template <class T>
struct Number {
  using IsTerm = void;
  T value;
};
/// A dropout mask.
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
/// a where x > 0, else b.
template <class X, class A, class B>
struct WherePositive {
  using IsTerm = void;
  X x;
  A a;
  B b;
};

}  // namespace terms

/// An element-wise expression that kernels evaluate.
template <class A>
concept Term = requires {
  typename A::IsTerm;
};

/// x_ij.
template <class T>
terms::Read<T> reader(const ConstView<T>& x) {
  return {x.data(), x.outerStride()};
}
/// x_j: a value per channel.
template <class T>
terms::Read<T> per_channel(const T* x) {
  return {x, 0};
}
/// x_i: a value per row, at x[i · stride].
template <class T>
terms::PerRow<T> per_row(const T* x, Index stride = 1) {
  return {x, stride};
}
/// A constant.
template <class T>
terms::Number<T> number(T value) {
  return {value};
}
/// a where x > 0, else b; b where x is NaN.
template <Term X, Term A, Term B>
terms::WherePositive<X, A, B> where_positive(const X& x, const A& a, const B& b) {
  return {x, a, b};
}

namespace terms {  // the operators are found by argument-dependent lookup, in user code too

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
