#pragma once

#include "gated/layers/layer_norm.hpp"
#include "gated/layers/norm.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the norms.

namespace gated {

namespace detail {

/// The way back through layer_norm(): with g = ∂y ⊙ scale and x̂ = (x - mean) · factor, row by row
/// ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂)), ∂scale = Σ ∂y ⊙ x̂, ∂shift = Σ ∂y over the tokens.
template <class T>
void layer_norm_back(Tape<T>& tape, Variable x, Variable y, const Vector<T>& scale, const Vector<T>& shift, double eps) {
  Workspace<T>& workspace = tape.workspace();
  const auto frame = workspace.frame();
  const Index rows = tape.rows(x), channels = tape.width(x);
  const View<T> from = tape[x];
  const ConstView<T> dy = tape.gradient(y);
  MatrixMap<T> moments = workspace.matrix(rows, 2);
  for_each_row(rows, workspace, [&](Index i) {
    const RowMoments<T> row = row_moments<T>(&from.coeffRef(i, 0), channels, eps);
    moments(i, 0) = row.mean;
    moments(i, 1) = row.factor;
  });
  const auto normalised = [&](Index i, Index j, Index lanes) {
    return (Simd<T>::load(&from.coeffRef(i, j), lanes) - Simd<T>(moments(i, 0))) * Simd<T>(moments(i, 1));
  };
  const auto scaled = [&](Index i, Index j, Index lanes) {
    return Simd<T>::load(&dy.coeffRef(i, j), lanes) * Simd<T>::load(scale.data() + j, lanes);
  };
  if (T* const to = tape.gradient_of(scale.data())) {
    add_column_sums<T>(rows, channels, to, workspace, [&](Index i, Index j, Index lanes) {
      return Simd<T>::load(&dy.coeffRef(i, j), lanes) * normalised(i, j, lanes);
    });
  }
  if (T* const to = tape.gradient_of(shift.data())) {
    add_column_sums<T>(dy, to, workspace);
  }
  if (!tape.wants_gradient(x)) {
    return;
  }
  MatrixMap<T> means = workspace.matrix(rows, 2);  // of g and of g ⊙ x̂
  for_each_row(rows, workspace, [&](Index i) {
    Simd<T> sum(T{0}), product(T{0});
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> g = scaled(i, j, lanes);
      sum = sum + g;
      product = fma(g, normalised(i, j, lanes), product);
    });
    means(i, 0) = sum.sum() / static_cast<T>(channels);
    means(i, 1) = product.sum() / static_cast<T>(channels);
  });
  add_gradient(tape, x, [&](Index i, Index j, Index lanes) {
    return Simd<T>(moments(i, 1)) *
           (scaled(i, j, lanes) - Simd<T>(means(i, 0)) - normalised(i, j, lanes) * Simd<T>(means(i, 1)));
  });
}

/// The way back through scale_norm(): with x̂ = x / size, ∂x = gain / size · (∂y - x̂ · mean(∂y ⊙ x̂)), without the second term
/// where the size is clamped; ∂gain = Σ ∂y ⊙ x̂ over all numbers. `gain` is empty for the RMS norm.
template <class T>
void scale_norm_back(Tape<T>& tape, Variable x, Variable y, const Vector<T>& gain, double eps, ScaleNormForm form) {
  Workspace<T>& workspace = tape.workspace();
  const auto frame = workspace.frame();
  const Index rows = tape.rows(x), channels = tape.width(x);
  const View<T> from = tape[x];
  const ConstView<T> dy = tape.gradient(y);
  MatrixMap<T> found = workspace.matrix(rows, 3);  // 1 / size, Σ ∂y ⊙ x̂, and its mean where the size depends on x
  for_each_row(rows, workspace, [&](Index i) {
    const RowSize<T> size = row_size<T>(&from.coeffRef(i, 0), channels, eps, form);
    const T factor = T{1} / size.size;
    Simd<T> product(T{0});
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> normalised = Simd<T>::load(&from.coeffRef(i, j), lanes) * Simd<T>(factor);
      product = fma(Simd<T>::load(&dy.coeffRef(i, j), lanes), normalised, product);
    });
    found(i, 0) = factor;
    found(i, 1) = product.sum();
    found(i, 2) = size.clamped ? T{0} : found(i, 1) / static_cast<T>(channels);
  });
  if (T* const to = tape.gradient_of(gain.data())) {
    for (Index i = 0; i < rows; ++i) {
      *to += found(i, 1);
    }
  }
  const T g = gain.size() == 0 ? T{1} : gain[0];
  add_gradient(tape, x, [&](Index i, Index j, Index lanes) {
    const Simd<T> factor(found(i, 0)), normalised = Simd<T>::load(&from.coeffRef(i, j), lanes) * factor;
    return Simd<T>(g) * factor * (Simd<T>::load(&dy.coeffRef(i, j), lanes) - normalised * Simd<T>(found(i, 2)));
  });
}

}  // namespace detail

/// y = LayerNorm(x). Cost: five passes over the rows on the way back.
template <class T>
Variable record(Tape<T>& tape, const LayerNorm<T>& layer, Variable x) {
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  layer.forward(tape[x], tape[y], tape.workspace());
  tape.push([&tape, &layer, x, y] { detail::layer_norm_back<T>(tape, x, y, layer.weight, layer.bias, layer.eps); });
  return y;
}

/// y = norm(x) in the form that the layer has.
template <class T>
Variable record(Tape<T>& tape, const Norm<T>& layer, Variable x) {
  if (layer.form == NormForm::none) {
    return x;
  }
  const Variable y = tape.make(tape.rows(x), tape.width(x));
  layer.forward(tape[x], tape[y], tape.workspace());
  tape.push([&tape, &layer, x, y] {
    if (layer.form == NormForm::layer_norm) {
      detail::layer_norm_back<T>(tape, x, y, layer.weight, layer.bias, layer.eps);
    } else {
      const bool clamped = layer.form == NormForm::scale_norm;
      detail::scale_norm_back<T>(tape, x, y, layer.gain, layer.eps, clamped ? ScaleNormForm::clamped : ScaleNormForm::rsqrt);
    }
  });
  return y;
}

}  // namespace gated
