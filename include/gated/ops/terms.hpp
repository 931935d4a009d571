#pragma once

#include "gated/core/matrix.hpp"
#include "gated/ops/activation.hpp"
#include "gated/ops/dropout.hpp"

/// @file
/// Formulas for each number of a matrix, as data: `reader(dy) * slope(Activation::gelu, reader(z))`.
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
/// act(x), or with `slope` act'(x). A term has one activation at most.
template <class A, bool slope>
struct Activated {
  using IsTerm = void;
  Activation activation;
  A x;
};

/// The activation that a term has; identity if it has none.
template <class A>
Activation activation_of(const A&) {
  return Activation::identity;
}
/// The one that either has.
template <template <class, class> class Join, class A, class B>
Activation activation_of(const Join<A, B>& term) {
  const Activation first = activation_of(term.a);
  return first == Activation::identity ? activation_of(term.b) : first;
}
/// The one that it is.
template <class A, bool slope>
Activation activation_of(const Activated<A, slope>& term) {
  return term.activation;
}

/// Whether a term has an activation.
template <class A>
inline constexpr bool has_activation = false;
/// Either may.
template <template <class, class> class Join, class A, class B>
inline constexpr bool has_activation<Join<A, B>> = has_activation<A> || has_activation<B>;
/// It is one.
template <class A, bool slope>
inline constexpr bool has_activation<Activated<A, slope>> = true;

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

/// act(x).
template <Term A>
terms::Activated<A, false> value(Activation activation, const A& x) {
  return {activation, x};
}
/// act'(x).
template <Term A>
terms::Activated<A, true> slope(Activation activation, const A& x) {
  return {activation, x};
}

}  // namespace gated
