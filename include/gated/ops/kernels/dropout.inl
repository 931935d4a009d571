// Elements of a dropout mask as vectors.

template <class T>
EIGEN_ALWAYS_INLINE Simd<T> dropout_of(const DropoutMask<T>& mask, Index row, Index column, Index lanes) {
  alignas(64) T values[Simd<T>::lane_count] = {};
  for (Index lane = 0; lane < lanes; ++lane) {
    values[lane] = mask.of(row, column + lane);
  }
  return Simd<T>::load(values);
}
