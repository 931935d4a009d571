// Normalisation of rows: see NormForm.

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

/// y = norm(x) for some rows: see normalise().
template <class T>
EIGEN_DONT_INLINE void normalise_rows(const T* from, Index from_stride, Index rows, Index channels,
                                      const NormParameters<T>& norm, T* to, Index to_stride, RowMoments<T>* kept) {
  const T *const weight = norm.weight, *const bias = norm.bias;
  for (Index row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    if (norm.form == NormForm::layer_norm || norm.form == NormForm::affine) {
      const RowMoments<T> moments =
          norm.form == NormForm::affine ? RowMoments<T>{T{0}, T{1}, T{0}} : layer_norm_moments(from, channels, norm.eps);
      if (kept != nullptr) {
        kept[row] = moments;
      }
      const Simd<T> mean(moments.mean), factor(moments.factor);
      const auto normalised = [&](Index j, Index lanes) { return (Simd<T>::load(from + j, lanes) - mean) * factor; };
      if (weight != nullptr && bias != nullptr) {
        for_each_vector<T>(channels, [&](Index j, Index lanes) {
          (normalised(j, lanes) * Simd<T>::load(weight + j, lanes) + Simd<T>::load(bias + j, lanes)).store(to + j, lanes);
        });
        continue;
      }
      for_each_vector<T>(channels, [&](Index j, Index lanes) {
        Simd<T> value = normalised(j, lanes);
        value = weight == nullptr ? value : value * Simd<T>::load(weight + j, lanes);
        value = bias == nullptr ? value : value + Simd<T>::load(bias + j, lanes);
        value.store(to + j, lanes);
      });
      continue;
    }
    const RowSize<T> size = row_size(from, channels, norm.eps, norm.form);
    if (kept != nullptr) {
      kept[row] = {T{0}, T{1} / size.size, size.clamped ? T{0} : T{1}};
    }
    const Simd<T> factor((norm.gain == nullptr ? T{1} : *norm.gain) / size.size);
    for_each_vector<T>(channels, [&](Index j, Index lanes) { (Simd<T>::load(from + j, lanes) * factor).store(to + j, lanes); });
  }
}

/// The backward pass through some rows: see normalise_backward(). dots = Σ ∂y ⊙ weight ⊙ x̂ per row; dx = nullptr asks for no
/// more.
template <class T>
EIGEN_DONT_INLINE void normalise_backward_rows(const T* x, Index x_stride, const T* dy, Index dy_stride, Index rows,
                                               Index channels, const NormParameters<T>& norm, const RowMoments<T>* moments,
                                               T* dots, T* dx, Index dx_stride, bool adds) {
  const T* const weight = norm.weight;
  const T gain = norm.gain == nullptr ? T{1} : *norm.gain, count = static_cast<T>(channels);
  const T centred = norm.form == NormForm::layer_norm ? T{1} : T{0};
  for (Index i = 0; i < rows; ++i, x += x_stride, dy += dy_stride) {
    const Simd<T> mean(moments[i].mean), factor(moments[i].factor);
    const auto normalised = [&](Index j, Index lanes) { return (Simd<T>::load(x + j, lanes) - mean) * factor; };
    const auto scaled = [&](Index j, Index lanes) {
      const Simd<T> slope = Simd<T>::load(dy + j, lanes);
      return weight == nullptr ? slope : slope * Simd<T>::load(weight + j, lanes);
    };
    Simd<T> sum(T{0}), product(T{0});
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> g = scaled(j, lanes);
      sum = sum + g;
      product = fma(g, normalised(j, lanes), product);
    });
    dots[i] = product.sum();
    if (dx == nullptr) {
      continue;
    }
    const Simd<T> mean_g(centred * sum.sum() / count), mean_product(moments[i].varies * dots[i] / count);
    const Simd<T> scale(gain * moments[i].factor);
    T* const to = dx + i * dx_stride;
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> change = scale * (scaled(j, lanes) - mean_g - normalised(j, lanes) * mean_product);
      (adds ? Simd<T>::load(to + j, lanes) + change : change).store(to + j, lanes);
    });
  }
}
