// Rotates pairs of channels: see rotate().

/// Row t of `table` holds the cosines of all pairs, then the sines. Pairs are (0, 1), (2, 3), … if `interleaved`, else
/// (0, pairs), (1, pairs + 1), …
template <class T>
EIGEN_DONT_INLINE void rotate_rows(T* x, Index stride, Index rows, const T* table, Index table_stride, Index pairs,
                                   bool interleaved) {
  for (Index t = 0; t < rows; ++t, x += stride, table += table_stride) {
    if (interleaved) {
      for (Index k = 0; k < pairs; ++k) {
        T &a = x[2 * k], &b = x[2 * k + 1];
        const T cosine = table[k], sine = table[pairs + k], turned = product(a, cosine) - product(b, sine);
        b = product(b, cosine) + product(a, sine);
        a = turned;
      }
      continue;
    }
    for_each_vector<T>(pairs, [&](Index k, Index lanes) {
      const Simd<T> a = Simd<T>::load(x + k, lanes), b = Simd<T>::load(x + pairs + k, lanes);
      const Simd<T> cosine = Simd<T>::load(table + k, lanes), sine = Simd<T>::load(table + pairs + k, lanes);
      (a * cosine - b * sine).store(x + k, lanes);
      (b * cosine + a * sine).store(x + pairs + k, lanes);
    });
  }
}
