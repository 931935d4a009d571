// Softmax over the rows of a score matrix: see softmax().

template <class T>
EIGEN_DONT_INLINE void softmax_rows(T* data, Index stride, Index rows, Index columns, Index first, bool causal, const T* keys) {
  for (Index row = 0; row < rows; ++row, data += stride) {
    const Index seen = first + row + 1, visible = causal && seen < columns ? seen : columns;

    T largest = -std::numeric_limits<T>::infinity();
    bool empty = true;
    for (Index j = 0; j < visible; ++j) {
      if (keys == nullptr || keys[j] != T{0}) {
        largest = data[j] > largest ? data[j] : largest;
        empty = false;
      }
    }
    if (empty) {
      std::fill(data, data + columns, T{0});
      continue;
    }
    RunningSum<T> sum;
    for_each_vector<T>(visible, [&](Index j, Index lanes) {
      // A hidden column may hold anything: what it gives must neither overflow nor count.
      Simd<T> value = exp_of_negative(Simd<T>::load(data + j, lanes) - Simd<T>(largest)).keep(lanes);
      value = keys == nullptr ? value : select_less(Simd<T>(T{0}), Simd<T>::load(keys + j, lanes), value, Simd<T>(T{0}));
      value.store(data + j, lanes);
      sum.add(value);
    });
    const Simd<T> factor(T{1} / sum.total());
    for_each_vector<T>(visible,
                       [&](Index j, Index lanes) { (Simd<T>::load(data + j, lanes) * factor).store(data + j, lanes); });
    std::fill(data + visible, data + columns, T{0});
  }
}
