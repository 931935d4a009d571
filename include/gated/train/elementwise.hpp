#pragma once

#include "gated/ops/activation.hpp"
#include "gated/ops/dropout.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of what is done to each number alone: activations, gating, residuals, dropout.

namespace gated {

namespace detail {

/// y = f(row, column, lanes), vector by vector.
template <class T, class F>
void assign(View<T> y, const Workspace<T>& workspace, const F& f) {
  for_each_row(y.rows(), workspace, [&](Index i) {
    T* const row = y.data() + i * y.outerStride();
    for_each_vector<T>(y.cols(), [&](Index j, Index lanes) { f(i, j, lanes).store(row + j, lanes); });
  });
}

/// Reads a matrix vector by vector.
template <class T>
auto reader(const ConstView<T>& x) {
  return [data = x.data(), stride = x.outerStride()](Index i, Index j, Index lanes) {
    return Simd<T>::load(data + i * stride + j, lanes);
  };
}

template <class T>
void expect_same_shape(const char* where, const Tape<T>& tape, Variable a, Variable b) {
  require<ShapeError>(tape.rows(a) == tape.rows(b) && tape.width(a) == tape.width(b), where, ": a is ", tape.rows(a), " × ",
                      tape.width(a), " and b is ", tape.rows(b), " × ", tape.width(b), ", expected equal shapes.");
}

}  // namespace detail

/// y = act(x). ∂x = ∂y ⊙ act'(x).
template <class T>
Variable activate(Tape<T>& tape, Variable x, Activation activation) {
  if (activation == Activation::identity) {
    return x;
  }
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  with_activation(activation, [&](auto act) {
    const auto from = detail::reader<T>(tape[x]);
    detail::assign<T>(tape[y], tape.workspace(), [&](Index i, Index j, Index lanes) { return act.value(from(i, j, lanes)); });
  });
  tape.push([&tape, activation, x, y] {
    with_activation(activation, [&](auto act) {
      const auto from = detail::reader<T>(tape[x]), dy = detail::reader<T>(tape.gradient(y));
      add_gradient(tape, x, [&](Index i, Index j, Index lanes) { return dy(i, j, lanes) * act.derivative(from(i, j, lanes)); });
    });
  });
  return y;
}

/// y = a ⊙ b: gating. ∂a = ∂y ⊙ b, ∂b = ∂y ⊙ a. Errors: ShapeError for different shapes.
template <class T>
Variable multiply(Tape<T>& tape, Variable a, Variable b) {
  detail::expect_same_shape("multiply", tape, a, b);
  const Variable y = tape.make(tape.rows(a), tape.width(a));
  const auto left = detail::reader<T>(tape[a]), right = detail::reader<T>(tape[b]);
  detail::assign<T>(tape[y], tape.workspace(),
                    [&](Index i, Index j, Index lanes) { return left(i, j, lanes) * right(i, j, lanes); });
  tape.push([&tape, a, b, y, left, right] {
    const auto dy = detail::reader<T>(tape.gradient(y));
    add_gradient(tape, a, [&](Index i, Index j, Index lanes) { return dy(i, j, lanes) * right(i, j, lanes); });
    add_gradient(tape, b, [&](Index i, Index j, Index lanes) { return dy(i, j, lanes) * left(i, j, lanes); });
  });
  return y;
}

/// y = a + b. ∂a = ∂b = ∂y. Errors: ShapeError for different shapes.
template <class T>
Variable add(Tape<T>& tape, Variable a, Variable b) {
  detail::expect_same_shape("add", tape, a, b);
  const Variable y = tape.make(tape.rows(a), tape.width(a));
  const auto left = detail::reader<T>(tape[a]), right = detail::reader<T>(tape[b]);
  detail::assign<T>(tape[y], tape.workspace(),
                    [&](Index i, Index j, Index lanes) { return left(i, j, lanes) + right(i, j, lanes); });
  tape.push([&tape, a, b, y] {
    const ConstView<T> dy = tape.gradient(y);
    add_gradient<T>(tape, a, dy);
    add_gradient<T>(tape, b, dy);
  });
  return y;
}

/// y = a + b ⊙ scale, a learned scale per channel: Residual::scaled.
template <class T>
Variable add_scaled(Tape<T>& tape, Variable a, Variable b, const Vector<T>& scale) {
  detail::expect_same_shape("add_scaled", tape, a, b);
  const Variable y = tape.make(tape.rows(a), tape.width(a));
  const auto left = detail::reader<T>(tape[a]), right = detail::reader<T>(tape[b]);
  detail::assign<T>(tape[y], tape.workspace(), [&](Index i, Index j, Index lanes) {
    return fma(right(i, j, lanes), Simd<T>::load(scale.data() + j, lanes), left(i, j, lanes));
  });
  tape.push([&tape, a, b, y, right, &scale] {
    const ConstView<T> dy = tape.gradient(y);
    const auto from = detail::reader<T>(dy);
    add_gradient<T>(tape, a, dy);
    add_gradient(tape, b,
                 [&](Index i, Index j, Index lanes) { return from(i, j, lanes) * Simd<T>::load(scale.data() + j, lanes); });
    if (T* const to = tape.gradient_of(scale.data())) {
      add_column_sums<T>(dy.rows(), dy.cols(), to, tape.workspace(),
                         [&](Index i, Index j, Index lanes) { return from(i, j, lanes) * right(i, j, lanes); });
    }
  });
  return y;
}

/// y = x ⊙ c with factors c(row, column, lanes) that are no variables. ∂x = ∂y ⊙ c. `c` may capture as Tape::push() says.
template <class T, class Factors>
Variable scale(Tape<T>& tape, Variable x, const Factors& c) {
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  const auto from = detail::reader<T>(tape[x]);
  detail::assign<T>(tape[y], tape.workspace(),
                    [&](Index i, Index j, Index lanes) { return from(i, j, lanes) * c(i, j, lanes); });
  tape.push([&tape, x, y, c] {
    const auto dy = detail::reader<T>(tape.gradient(y));
    add_gradient(tape, x, [&](Index i, Index j, Index lanes) { return dy(i, j, lanes) * c(i, j, lanes); });
  });
  return y;
}

/// y = x, each number set to 0 with probability `rate` and divided by 1 - rate otherwise; x itself in a step without noise.
template <class T>
Variable dropout(Tape<T>& tape, Variable x, double rate) {
  if (rate <= 0 || tape.noise() == nullptr) {
    return x;
  }
  return scale(tape, x, DropoutMask<T>(tape.noise()->bits(), rate));
}

}  // namespace gated
