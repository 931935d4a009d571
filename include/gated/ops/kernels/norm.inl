// Normalization of rows: see NormForm.

/// True if the form subtracts the mean of a row.
constexpr bool has_mean(NormForm form) { return form == NormForm::layer_norm || form == NormForm::layer_norm_no_bias; }

/// Mean and 1 / √(var + eps) of each of `Rows` rows. The rows are computed interleaved, so that their chains of additions
/// overlap. The variance is biased (divided by C), as in PyTorch, and computed from centred values.
template <class T, std::size_t Rows>
EIGEN_ALWAYS_INLINE void layer_norm_moments(const T* from, Index stride, Index channels, double eps,
                                            RowMoments<T> (&moments)[Rows]) {
  const T reciprocal = T{1} / static_cast<T>(channels);
  T sums[Rows];
  const auto load = [&](std::size_t r, Index j, Index lanes)
                        GATED_INLINED { return Simd<T>::load(from + static_cast<Index>(r) * stride + j, lanes); };
  sum_of_rows<T>(channels, sums,
                 [&](Simd<T> sum, std::size_t r, Index j, Index lanes) GATED_INLINED { return sum + load(r, j, lanes); });
  Simd<T> means[Rows];
  for (std::size_t r = 0; r < Rows; ++r) {
    moments[r].mean = product(reciprocal, sums[r]);
    means[r] = Simd<T>(moments[r].mean);
  }
  sum_of_rows<T>(channels, sums, [&](Simd<T> sum, std::size_t r, Index j, Index lanes) GATED_INLINED {
    const Simd<T> centred = (load(r, j, lanes) - means[r]).keep(lanes);
    return fma(centred, centred, sum);
  });
  for (std::size_t r = 0; r < Rows; ++r) {
    moments[r].factor = T{1} / std::sqrt(product(reciprocal, sums[r]) + static_cast<T>(eps));
  }
}

/// The divisor of a row's values.
template <class T>
struct RowSize {
  T size;
  bool clamped;  ///< true if `size` is the lower bound set by eps, a constant
};

/// The root mean square of a row. Depending on `form`, eps is added under the root or sets a lower bound. Values are scaled by
/// a power of two before squaring, so nothing overflows for finite x with a finite mean square.
template <class T>
RowSize<T> row_size(const T* row, Index channels, double eps, NormForm form) {
  Simd<T> largest(T{0});
  for_each_vector<T>(channels, [&](Index j, Index lanes) { largest = max(largest, abs(Simd<T>::load(row + j, lanes))); });
  const T peak = largest.largest();
  const T down = std::isfinite(peak) && peak > T{0} ? std::ldexp(T{1}, -std::clamp(std::ilogb(peak), -100, 100)) : T{1};

  const T squares = sum_of_row<T>(channels, [&](Simd<T> sum, Index j, Index lanes) GATED_INLINED {
    const Simd<T> small = Simd<T>::load(row + j, lanes) * Simd<T>(down);
    return fma(small, small, sum);
  });
  const T mean_square = squares / static_cast<T>(channels);  // mean square of the scaled values
  if (form != NormForm::scale_norm && form != NormForm::l2_norm) {
    return {std::sqrt(mean_square / down / down + static_cast<T>(eps)), false};
  }
  const T epsilon = static_cast<T>(form == NormForm::l2_norm ? eps / std::sqrt(static_cast<double>(channels)) : eps);
  const T root = std::sqrt(mean_square) / down;
  return {std::max(root, epsilon), root < epsilon};
}

/// y = (x - mean) · factor ⊙ weight + bias for one row.
template <class T>
EIGEN_DONT_INLINE void normalize_row(const T* from, Index channels, const NormParameters<T>& norm, const RowMoments<T>& moments,
                                     T* to) {
  const T *const weight = norm.weight, *const bias = norm.bias;
  const Simd<T> mean(moments.mean), factor(moments.factor);
  const auto normalized = [&](Index j, Index lanes) GATED_INLINED { return (Simd<T>::load(from + j, lanes) - mean) * factor; };
  if (weight != nullptr && bias != nullptr) {
    return for_each_vector<T>(channels, [&](Index j, Index lanes) {
      fma(normalized(j, lanes), Simd<T>::load(weight + j, lanes), Simd<T>::load(bias + j, lanes)).store(to + j, lanes);
    });
  }
  for_each_vector<T>(channels, [&](Index j, Index lanes) {
    Simd<T> value = normalized(j, lanes);
    value = weight == nullptr ? value : value * Simd<T>::load(weight + j, lanes);
    value = bias == nullptr ? value : value + Simd<T>::load(bias + j, lanes);
    value.store(to + j, lanes);
  });
}

/// Layer norm or affine map of `Rows` rows.
template <class T, std::size_t Rows>
EIGEN_DONT_INLINE void normalize_together(const T* from, Index from_stride, Index channels, const NormParameters<T>& norm,
                                          T* to, Index to_stride, RowMoments<T>* saved) {
  RowMoments<T> moments[Rows];
  if (norm.form == NormForm::affine) {
    for (RowMoments<T>& of_row : moments) {
      of_row = {T{0}, T{1}, T{0}};
    }
  } else {
    layer_norm_moments(from, from_stride, channels, norm.eps, moments);
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    const Index row = static_cast<Index>(r);
    normalize_row(from + row * from_stride, channels, norm, moments[r], to + row * to_stride);
    if (saved != nullptr) {
      saved[row] = moments[r];
    }
  }
}

/// y = norm(x), row by row: see normalize().
template <class T>
EIGEN_DONT_INLINE void normalize_rows(const T* from, Index from_stride, Index rows, Index channels,
                                      const NormParameters<T>& norm, T* to, Index to_stride, RowMoments<T>* saved) {
  constexpr Index together = 4;
  const bool is_centred = has_mean(norm.form) || norm.form == NormForm::affine;
  for (Index row = 0, done = 1; row < rows; row += done) {
    const T* const x = from + row * from_stride;
    T* const y = to + row * to_stride;
    RowMoments<T>* const moments = saved == nullptr ? nullptr : saved + row;
    done = 1;
    if (is_centred && row + together <= rows) {
      normalize_together<T, together>(x, from_stride, channels, norm, y, to_stride, moments);
      done = together;
    } else if (is_centred) {
      normalize_together<T, 1>(x, from_stride, channels, norm, y, to_stride, moments);
    } else {
      const RowSize<T> size = row_size(x, channels, norm.eps, norm.form);
      if (moments != nullptr) {
        *moments = {T{0}, T{1} / size.size, size.clamped ? T{0} : T{1}};
      }
      normalize_row<T>(x, channels, norm, {T{0}, (norm.gain == nullptr ? T{1} : *norm.gain) / size.size}, y);
    }
  }
}

/// Backward pass, row by row: see normalize_backward(). `dots` receives Σ ∂y ⊙ weight ⊙ x̂ per row. `dx` may be nullptr.
/// `sums`, unless nullptr, accumulates Σ ∂y ⊙ x̂ per channel, followed by Σ ∂y.
template <class T>
EIGEN_DONT_INLINE void normalize_backward_rows(const T* x, Index x_stride, const T* dy, Index dy_stride, Index rows,
                                               Index channels, const NormParameters<T>& norm, const RowMoments<T>* moments,
                                               T* dots, T* dx, Index dx_stride, bool adds, T* sums) {
  const T* const weight = norm.weight;
  const T gain = norm.gain == nullptr ? T{1} : *norm.gain, count = static_cast<T>(channels);
  const T centred = has_mean(norm.form) ? T{1} : T{0};
  for (Index i = 0; i < rows; ++i, x += x_stride, dy += dy_stride) {
    const Simd<T> mean(moments[i].mean), factor(moments[i].factor);
    const auto normalized = [&](Index j, Index lanes) GATED_INLINED { return (Simd<T>::load(x + j, lanes) - mean) * factor; };
    const auto scaled = [&](Index j, Index lanes) GATED_INLINED {
      const Simd<T> gradient = Simd<T>::load(dy + j, lanes);
      return weight == nullptr ? gradient : gradient * Simd<T>::load(weight + j, lanes);
    };
    RowSum<T> gradients, products;
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> g = scaled(j, lanes);
      gradients.at(j) = gradients.at(j) + g;
      products.at(j) = fma(g, normalized(j, lanes), products.at(j));
    });
    if (sums != nullptr) {
      for_each_vector<T>(channels, [&](Index j, Index lanes) {
        const Simd<T> gradient = Simd<T>::load(dy + j, lanes);
        fma(gradient, normalized(j, lanes), Simd<T>::load(sums + j, lanes)).store(sums + j, lanes);
        (gradient + Simd<T>::load(sums + channels + j, lanes)).store(sums + channels + j, lanes);
      });
    }
    dots[i] = products.total();
    if (dx == nullptr) {
      continue;
    }
    const Simd<T> mean_g(centred * gradients.total() / count), mean_product(moments[i].varies * dots[i] / count);
    const Simd<T> scale(gain * moments[i].factor);
    T* const to = dx + i * dx_stride;
    for_each_vector<T>(channels, [&](Index j, Index lanes) {
      const Simd<T> change = scale * (scaled(j, lanes) - mean_g - normalized(j, lanes) * mean_product);
      (adds ? Simd<T>::load(to + j, lanes) + change : change).store(to + j, lanes);
    });
  }
}
