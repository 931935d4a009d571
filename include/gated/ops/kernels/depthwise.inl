// Depthwise convolution over rows: see convolve_depthwise().

/// tile[i, j] = Σ_k panel[k, j] · x[i · row_stride + k · tap_stride + j] for `Rows` rows of two vectors, added to the tile if
/// `adds`. Sums in the order of the taps. `load(p, v)` loads vector v of a row at p.
template <class T, Index Rows, class Load>
EIGEN_ALWAYS_INLINE void convolve_rows(Index taps, const T* panel, const T* x, Index tap_stride, Index row_stride, bool adds,
                                       T* tile, const Load& load) {
  constexpr Index width = Simd<T>::width;
  Simd<T> sums[static_cast<std::size_t>(Rows)][2];
  for (Index i = 0; i < Rows; ++i) {
    for (Index v = 0; v < 2; ++v) {
      sums[i][v] = adds ? Simd<T>::load(tile + (2 * i + v) * width) : Simd<T>(T{0});
    }
  }
  for (Index k = 0; k < taps; ++k, panel += 2 * width, x += tap_stride) {
    GATED_UNROLL
    for (Index v = 0; v < 2; ++v) {
      const Simd<T> weight = Simd<T>::load(panel + v * width);
      GATED_UNROLL
      for (Index i = 0; i < Rows; ++i) {
        sums[i][v] = fma(weight, load(x + i * row_stride, v), sums[i][v]);
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
template <class T>
EIGEN_DONT_INLINE void convolve_tile(Index taps, const T* panel, const T* x, Index tap_stride, Index row_stride, Index rows,
                                     Index columns, bool adds, T* tile) {
  constexpr Index width = Simd<T>::width;
  const auto whole = [](const T* from, Index v) GATED_INLINED { return Simd<T>::load(from + v * width); };
  const auto partial = [columns](const T* from, Index v) GATED_INLINED {
    const Index lanes = columns - v * width;
    return lanes > 0 ? Simd<T>::load(from + v * width, lanes) : Simd<T>(T{0});
  };
  if (rows == depthwise_tile_rows && columns == 2 * width) {
    return convolve_rows<T, depthwise_tile_rows>(taps, panel, x, tap_stride, row_stride, adds, tile, whole);
  }
  for (Index i = 0; i < rows; ++i, x += row_stride, tile += 2 * width) {
    if (columns == 2 * width) {
      convolve_rows<T, 1>(taps, panel, x, tap_stride, row_stride, adds, tile, whole);
    } else {
      convolve_rows<T, 1>(taps, panel, x, tap_stride, row_stride, adds, tile, partial);
    }
  }
}

template <class T>
inline constexpr DepthwiseKernels<T> table<DepthwiseKernels<T>> = {.convolve_tile = &convolve_tile<T>};
