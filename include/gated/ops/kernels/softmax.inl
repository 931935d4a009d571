// Softmax over the rows of a score matrix: see softmax().

/// The largest of `count` > 0 numbers, or any of them if one is a NaN.
template <class T>
EIGEN_ALWAYS_INLINE T largest_of(const T* data, Index count) {
  using V = Simd<T>;
  constexpr Index width = V::width;
  if (count < width) {
    T largest = data[0];
    for (Index j = 1; j < count; ++j) {
      largest = data[j] > largest ? data[j] : largest;
    }
    return largest;
  }
  V largest = V::load(data + count - width);  // which the others may overlap
  for (Index j = 0; j + width < count; j += width) {
    largest = max(largest, V::load(data + j));
  }
  return largest.largest();
}

template <class T>
EIGEN_DONT_INLINE void softmax_rows(T* data, Index stride, Index rows, Index columns, Index first, bool causal, const T* keys) {
  for (Index row = 0; row < rows; ++row, data += stride) {
    const Index seen = first + row + 1, visible = causal && seen < columns ? seen : columns;

    const bool all = keys == nullptr && visible > 0;
    T largest = all ? largest_of(data, visible) : -std::numeric_limits<T>::infinity();
    bool empty = !all;
    for (Index j = 0; j < visible && keys != nullptr; ++j) {
      if (keys[j] != T{0}) {
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

/// The same over the columns of a matrix, each column alone.
template <class T>
EIGEN_DONT_INLINE void softmax_columns(T* data, Index stride, Index rows, Index columns) {
  using V = Simd<T>;
  for_each_vector<T>(rows > 0 ? columns : 0, [&](Index j, Index lanes) {
    V largest = V::load(data + j, lanes);
    for (Index i = 1; i < rows; ++i) {
      largest = max(largest, V::load(data + i * stride + j, lanes));
    }
    RunningSum<T> sum;
    for (Index i = 0; i < rows; ++i) {
      const V value = exp_of_negative(V::load(data + i * stride + j, lanes) - largest);
      value.store(data + i * stride + j, lanes);
      sum.add(value);
    }
    const V factor = V(T{1}) / sum.lanes();
    for (Index i = 0; i < rows; ++i) {
      (V::load(data + i * stride + j, lanes) * factor).store(data + i * stride + j, lanes);
    }
  });
}

/// The backward pass through it: `gradient` holds ∂A and becomes A ⊙ (∂A - Σ_i A_ij ∂A_ij).
template <class T>
EIGEN_DONT_INLINE void softmax_columns_backward(const T* weights, Index weights_stride, Index rows, Index columns, T* gradient,
                                                Index gradient_stride) {
  using V = Simd<T>;
  for_each_vector<T>(columns, [&](Index j, Index lanes) {
    V product(T{0});
    for (Index i = 0; i < rows; ++i) {
      product = fma(V::load(weights + i * weights_stride + j, lanes), V::load(gradient + i * gradient_stride + j, lanes), product);
    }
    for (Index i = 0; i < rows; ++i) {
      const V slope = V::load(gradient + i * gradient_stride + j, lanes) - product;
      (V::load(weights + i * weights_stride + j, lanes) * slope).store(gradient + i * gradient_stride + j, lanes);
    }
  });
}
