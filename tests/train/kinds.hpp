#pragma once

#include "gated/core/parameters.hpp"

namespace gated::test {

/// A model with a parameter of every role except memory. adamw_reference.py uses the same sizes and formulas.
template <class T>
struct Kinds {
  using Scalar = T;

  Matrix<T> weight = Matrix<T>::Zero(3, 5);
  Vector<T> bias = Vector<T>::Zero(3);
  Vector<T> norm = Vector<T>::Zero(5);
  Matrix<T> spatial = Matrix<T>::Zero(2, 3);
  Matrix<T> position = Matrix<T>::Zero(1, 4);
  Matrix<T> embedding = Matrix<T>::Zero(4, 2);
  Vector<T> constant = Vector<T>::Constant(3, T{5});

  static constexpr auto fields() {
    return Fields(field("weight", &Kinds::weight, Role::weight), field("bias", &Kinds::bias, Role::bias),
                  field("norm", &Kinds::norm, Role::norm), field("spatial", &Kinds::spatial, Role::spatial),
                  field("position", &Kinds::position, Role::position), field("embedding", &Kinds::embedding, Role::embedding),
                  field("constant", &Kinds::constant, Role::constant));
  }
};

/// Sets element i of parameter p to `f(p, i)`, for each element of each parameter; i and p are counted from 0.
template <class Model, class F>
void fill(Model& model, F&& f) {
  Index parameter = 0;
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<typename decltype(values)::value_type>(f(parameter, static_cast<Index>(i)));
        }
        ++parameter;
      },
      model);
}

/// The gradient of step `step` in adamw_reference.py. The constant's gradient is not zero, but must have no effect.
template <class T>
Kinds<T> reference_gradient(Index step) {
  Kinds<T> gradient;
  fill(gradient, [&](Index parameter, Index i) {
    constexpr double scales[] = {0.25, 1.0, 4.0};
    return static_cast<double>((5 * i + 3 * parameter + 11 * step) % 19 - 9) / 64 * scales[i % 3];
  });
  return gradient;
}

/// The model before the first step in adamw_reference.py.
template <class T>
Kinds<T> reference_start() {
  Kinds<T> model;
  fill(model, [](Index parameter, Index i) { return static_cast<double>((7 * i + 5 * parameter) % 23 - 11) / 8; });
  return model;
}

}  // namespace gated::test
