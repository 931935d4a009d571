#pragma once

#include <cmath>

#include "gated/core/words.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Normalisation of each row (token) over its channels, in all published forms.

namespace gated {

/// Which normalisation a layer has.
enum class NormForm {
  none,
  layer_norm,        ///< (x - mean) / √(var + eps) ⊙ weight + bias (Ba et al., arXiv:1607.06450)
  scale_norm,        ///< x / max(‖x‖/√C, eps) · g: lucidrains, mmpose
  scale_norm_rsqrt,  ///< x / √(mean(x²) + eps) · g: the FLASH paper, JunnYu
  rms,               ///< x / √(mean(x²) + eps), no parameters: GAU-α
  affine             ///< x ⊙ weight + bias, which normalises nothing: ResMLP (arXiv:2105.03404)
};

constexpr auto names_of(NormForm) {
  return words_for<NormForm>("none", "layer_norm", "scale_norm", "scale_norm_rsqrt", "rms", "affine");
}

/// A norm of any form: what it is, and its parameters, absent where the form has none.
template <class T>
struct NormParameters {
  NormForm form;
  double eps;
  const T* weight = nullptr;  ///< C, of the LayerNorm and the affine form
  const T* bias = nullptr;    ///< C, of the same
  const T* gain = nullptr;    ///< 1, of the ScaleNorms
};

/// What is known of a row before it is written: x̂ = (x - mean) · factor.
template <class T>
struct RowMoments {
  T mean;
  T factor;
  T varies{1};  ///< 0 where the factor is the same whatever the row
};

/// The mean and 1 / √(var + eps). The variance is the biased one (divided by C), as in PyTorch, from centred values.
template <class T>
RowMoments<T> layer_norm_moments(const T* row, Index channels, double eps) {
  const T reciprocal = T{1} / static_cast<T>(channels);
  const T mean = reciprocal * sum_of_row<T>(channels, [&](Simd<T> sum, Index j, Index lanes) {
                   return sum + Simd<T>::load(row + j, lanes);
                 });
  const T variance = reciprocal * sum_of_row<T>(channels, [&](Simd<T> sum, Index j, Index lanes) {
                       const Simd<T> centred = (Simd<T>::load(row + j, lanes) - Simd<T>(mean)).keep(lanes);
                       return fma(centred, centred, sum);
                     });
  return {mean, T{1} / std::sqrt(variance + static_cast<T>(eps))};
}

/// What a row is divided by.
template <class T>
struct RowSize {
  T size;
  bool clamped;  ///< it is eps, whatever the row
};

/// The root mean square of a row, as the form keeps it from vanishing. Squares are taken of numbers scaled by a power of two,
/// so that nothing overflows for any finite x whose mean square is finite.
template <class T>
RowSize<T> row_size(const T* row, Index channels, double eps, NormForm form) {
  Simd<T> largest(T{0});
  for_each_vector<T>(channels, [&](Index j, Index lanes) { largest = max(largest, abs(Simd<T>::load(row + j, lanes))); });
  const T peak = largest.largest();
  const T down = std::isfinite(peak) && peak > T{0} ? std::ldexp(T{1}, -std::clamp(std::ilogb(peak), -100, 100)) : T{1};

  const T squares = sum_of_row<T>(channels, [&](Simd<T> sum, Index j, Index lanes) {
    const Simd<T> small = Simd<T>::load(row + j, lanes) * Simd<T>(down);
    return fma(small, small, sum);
  });
  const T mean_square = squares / static_cast<T>(channels);  // of the scaled numbers
  const T epsilon = static_cast<T>(eps);
  if (form != NormForm::scale_norm) {
    return {std::sqrt(mean_square / down / down + epsilon), false};
  }
  const T root = std::sqrt(mean_square) / down;
  return {std::max(root, epsilon), root < epsilon};
}

/// y = norm(x), row by row; `kept` receives the moments of the rows.
/// Shapes: x and y are N × C; y may be x.
/// Cost: three passes over a row in cache.
template <class T>
void normalise(const std::type_identity_t<ConstView<T>>& x, const NormParameters<T>& norm, std::type_identity_t<View<T>> y,
               const Workspace<T>& workspace, RowMoments<T>* kept = nullptr) {
  if (norm.form == NormForm::none) {
    if (y.data() != x.data()) {
      y = x;
    }
    return;
  }
  const double eps = norm.eps;
  if (norm.form == NormForm::layer_norm || norm.form == NormForm::affine) {
    const T *const weight = norm.weight, *const bias = norm.bias;
    for_each_row(x.rows(), workspace, [&, weight, bias, kept](Index row) {
      const T* const from = x.data() + row * x.outerStride();
      T* const to = y.data() + row * y.outerStride();
      const RowMoments<T> moments =
          norm.form == NormForm::affine ? RowMoments<T>{T{0}, T{1}, T{0}} : layer_norm_moments(from, x.cols(), eps);
      if (kept != nullptr) {
        kept[row] = moments;
      }
      const Simd<T> mean(moments.mean), factor(moments.factor);
      for_each_vector<T>(x.cols(), [&](Index j, Index lanes) {
        Simd<T> value = (Simd<T>::load(from + j, lanes) - mean) * factor;
        value = weight == nullptr ? value : value * Simd<T>::load(weight + j, lanes);
        value = bias == nullptr ? value : value + Simd<T>::load(bias + j, lanes);
        value.store(to + j, lanes);
      });
    });
    return;
  }
  const T gain = norm.gain == nullptr ? T{1} : *norm.gain;
  for_each_row(x.rows(), workspace, [&](Index row) {
    const T* const from = x.data() + row * x.outerStride();
    T* const to = y.data() + row * y.outerStride();
    const RowSize<T> size = row_size(from, x.cols(), eps, norm.form);
    if (kept != nullptr) {
      kept[row] = {T{0}, T{1} / size.size, size.clamped ? T{0} : T{1}};
    }
    const Simd<T> factor(gain / size.size);
    for_each_vector<T>(x.cols(), [&](Index j, Index lanes) { (Simd<T>::load(from + j, lanes) * factor).store(to + j, lanes); });
  });
}

/// The backward pass through normalise(), whose moments are `moments`. With x̂ = (x - mean) · factor and g = ∂y ⊙ weight (or
/// gain · ∂y), row by row
///
///     ∂x = factor · (g - mean(g) - x̂ · mean(g ⊙ x̂))        ∂weight = Σ ∂y ⊙ x̂, ∂bias = Σ ∂y over the tokens
///
/// for the LayerNorm; for the others mean = mean(g) = 0, the last term is absent where the size is clamped or nothing is
/// normalised, and ∂gain is the sum of ∂y ⊙ x̂ over all numbers.
/// Cost: three passes over the rows.
template <class Back, class Variable, class T = typename Back::Scalar>
void normalise_backward(Back& back, Variable x, Variable y, const NormParameters<T>& norm, const RowMoments<T>* moments) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const ConstView<T> dy = back.gradient(y);
  const Index rows = dy.rows(), channels = dy.cols();
  const auto value = reader<T>(back[x]), slope = reader<T>(dy);
  const T gain = norm.gain == nullptr ? T{1} : *norm.gain;
  const T centred = norm.form == NormForm::layer_norm ? T{1} : T{0};
  T* const dots = workspace.take(rows);  // Σ ∂y ⊙ x̂, of the ScaleNorms
  const bool wanted = back.wants_gradient(x);
  const auto target = wanted ? back.target(x) : typename Back::Target{back[x], false};
  T* const dx = const_cast<T*>(target.view.data());
  const Index stride = target.view.outerStride();
  for_each_row(rows, workspace, [&, weight = norm.weight, fresh = target.fresh](Index i) {  // while the row is in cache
    const Simd<T> mean(moments[i].mean), factor(moments[i].factor);
    const auto normalised = [&](Index j, Index lanes) { return (value(i, j, lanes) - mean) * factor; };
    const auto scaled = [&](Index j, Index lanes) {
      return weight == nullptr ? slope(i, j, lanes) : slope(i, j, lanes) * Simd<T>::load(weight + j, lanes);
    };
    Simd<T> sum(T{0}), product(T{0});
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> g = scaled(j, lanes);
      sum = sum + g;
      product = fma(g, normalised(j, lanes), product);
    });
    dots[i] = product.sum();
    const T count = static_cast<T>(channels);
    const Simd<T> mean_g(centred * sum.sum() / count), mean_product(moments[i].varies * dots[i] / count);
    const Simd<T> scale(gain * moments[i].factor);
    for_each_vector<T>(wanted ? channels : 0, [&](Index j, Index lanes) {
      T* const to = dx + i * stride + j;
      const Simd<T> change = scale * (scaled(j, lanes) - mean_g - normalised(j, lanes) * mean_product);
      (fresh ? change : Simd<T>::load(to, lanes) + change).store(to, lanes);
    });
  });
  if (T* const to = back.gradient_of(norm.weight)) {
    add_column_sums<T>(rows, channels, to, workspace, [&](Index i, Index j, Index lanes) {
      return slope(i, j, lanes) * ((value(i, j, lanes) - Simd<T>(moments[i].mean)) * Simd<T>(moments[i].factor));
    });
  }
  if (T* const to = back.gradient_of(norm.bias)) {
    add_column_sums<T>(dy, to, workspace);
  }
  if (T* const to = back.gradient_of(norm.gain)) {
    for (Index i = 0; i < rows; ++i) {
      *to += dots[i];
    }
  }
}

/// y = norm(x) as an op; x itself for NormForm::none.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows normalise(Run& run, const typename Run::Rows& x, const NormParameters<T>& norm,
                             const typename Run::Place& to) {
  if (norm.form == NormForm::none) {
    return x;
  }
  const auto y = run.make(run.count(x), run.width(x), to);
  if constexpr (Run::records) {
    static_assert(sizeof(RowMoments<T>) == 3 * sizeof(T));
    auto* const moments = reinterpret_cast<RowMoments<T>*>(run.take(3 * run.count(x)));
    normalise<T>(run[x], norm, run[y], run.workspace(), moments);
    run.push([x, y, norm, moments](auto& back) { normalise_backward(back, x, y, norm, moments); });
  } else {
    normalise<T>(run[x], norm, run[y], run.workspace());
  }
  return y;
}

}  // namespace gated
