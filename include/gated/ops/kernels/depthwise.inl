// Convolutions over rows, channel by channel: see convolve_depthwise() and convolve_dynamic().

/// tile[i, j] = Σ_k w_kij · x[i · row_stride + k · tap_stride + j] for `Rows` rows of two vectors; if `adds`, += instead of =.
/// Sums in ascending order of k. `weight(k, i, v)` returns vector v of w_kij over j; `load(p, v)` loads vector v of row p.
template <class T, Index Rows, class Weight, class Load>
EIGEN_ALWAYS_INLINE void convolve_rows(Index taps, const T* x, Index tap_stride, Index row_stride, bool adds, T* tile,
                                       const Weight& weight, const Load& load) {
  constexpr Index width = Simd<T>::width;
  Simd<T> sums[static_cast<std::size_t>(Rows)][2];
  for (Index i = 0; i < Rows; ++i) {
    for (Index v = 0; v < 2; ++v) {
      sums[i][v] = adds ? Simd<T>::load(tile + (2 * i + v) * width) : Simd<T>(T{0});
    }
  }
  for (Index k = 0; k < taps; ++k, x += tap_stride) {
    GATED_UNROLL
    for (Index v = 0; v < 2; ++v) {
      GATED_UNROLL
      for (Index i = 0; i < Rows; ++i) {
        sums[i][v] = fma(weight(k, i, v), load(x + i * row_stride, v), sums[i][v]);
      }
    }
  }
  for (Index i = 0; i < Rows; ++i) {
    for (Index v = 0; v < 2; ++v) {
      sums[i][v].store(tile + (2 * i + v) * width);
    }
  }
}

/// convolve_rows() for `rows` ≤ depthwise_tile_rows rows of `columns` channels.
template <class T, class Weight>
EIGEN_ALWAYS_INLINE void convolve_any_rows(Index taps, const T* x, Index tap_stride, Index row_stride, Index rows,
                                           Index columns, bool adds, T* tile, const Weight& weight) {
  constexpr Index width = Simd<T>::width;
  const auto whole = [](const T* from, Index v) GATED_INLINED { return Simd<T>::load(from + v * width); };
  const auto partial = [columns](const T* from, Index v) GATED_INLINED {
    const Index lanes = columns - v * width;
    return lanes > 0 ? Simd<T>::load(from + v * width, lanes) : Simd<T>(T{0});
  };
  if (rows == depthwise_tile_rows && columns == 2 * width) {
    return convolve_rows<T, depthwise_tile_rows>(taps, x, tap_stride, row_stride, adds, tile, weight, whole);
  }
  for (Index row = 0; row < rows; ++row, x += row_stride, tile += 2 * width) {
    const auto of_row = [&](Index k, Index, Index v) GATED_INLINED { return weight(k, row, v); };
    if (columns == 2 * width) {
      convolve_rows<T, 1>(taps, x, tap_stride, row_stride, adds, tile, of_row, whole);
    } else {
      convolve_rows<T, 1>(taps, x, tap_stride, row_stride, adds, tile, of_row, partial);
    }
  }
}

/// A tile of a depthwise convolution: w_kij = panel[k, j].
template <class T>
EIGEN_DONT_INLINE void convolve_tile(Index taps, const T* panel, const T* x, Index tap_stride, Index row_stride, Index rows,
                                     Index columns, bool adds, T* tile) {
  constexpr Index width = Simd<T>::width;
  convolve_any_rows(taps, x, tap_stride, row_stride, rows, columns, adds, tile, [panel](Index k, Index, Index v) GATED_INLINED {
    return Simd<T>::load(panel + (2 * k + v) * width);
  });
}

/// A tile of one head of a dynamic convolution: w_kij = weights[i, k].
template <class T>
EIGEN_DONT_INLINE void convolve_tile_of_tokens(Index taps, const T* weights, Index weights_stride, const T* x, Index stride,
                                               Index rows, Index columns, T* tile) {
  convolve_any_rows(taps, x, stride, stride, rows, columns, false, tile, [=](Index k, Index i, Index) GATED_INLINED {
    return Simd<T>(weights[i * weights_stride + k]);
  });
}

/// to[k] = Σ_j dy_j · x[k, j] for the taps of one token and head.
template <class T>
EIGEN_DONT_INLINE void tap_gradients(Index taps, const T* dy, const T* x, Index stride, Index columns, T* to) {
  for (Index k = 0; k < taps; ++k, x += stride) {
    to[k] = sum_of_row<T>(columns, [&](Simd<T> sum, Index j, Index lanes) GATED_INLINED {
      return fma(Simd<T>::load(dy + j, lanes), Simd<T>::load(x + j, lanes), sum);
    });
  }
}

template <class T>
inline constexpr DepthwiseKernels<T> table<DepthwiseKernels<T>> = {.convolve_tile = &convolve_tile<T>};

template <class T>
inline constexpr DynamicConvolutionKernels<T> table<DynamicConvolutionKernels<T>> =
    {.convolve_tile = &convolve_tile_of_tokens<T>};

template <class T>
inline constexpr DynamicConvolutionDerivatives<T> table<DynamicConvolutionDerivatives<T>> =
    {.tap_gradients = &tap_gradients<T>};
