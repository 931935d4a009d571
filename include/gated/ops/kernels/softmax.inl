// Softmax over the rows of a score matrix: see softmax().

/// The largest of `count` > 0 values; any of the values if one is NaN.
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
  V largest = V::load(data + count - width);  // the last vector may overlap the one before
  for (Index j = 0; j + width < count; j += width) {
    largest = max(largest, V::load(data + j));
  }
  return largest.largest();
}

/// x ← exp(x - largest) for `count` elements of a row; returns 1 / Σ x. Elements with keys_j = 0 become 0.
template <class T>
EIGEN_ALWAYS_INLINE T exponentials_of_row(T* data, Index count, T largest, const T* keys) {
  return T{1} / running_sum_of_row<T, 8>(count, [&](Index j, Index lanes) GATED_INLINED {
           // Masked elements may be NaN or exceed `largest`: nothing overflows, and they become 0.
           Simd<T> value = exp_of_negative(Simd<T>::load(data + j, lanes) - Simd<T>(largest)).keep(lanes);
           value = keys == nullptr ? value : select_less(Simd<T>(T{0}), Simd<T>::load(keys + j, lanes), value, Simd<T>(T{0}));
           value.store(data + j, lanes);
           return value;
         });
}

/// x ← softmax(x) for `count` elements of a row; zeros if all `keys` are 0.
template <class T>
EIGEN_ALWAYS_INLINE void softmax_row(T* data, Index count, const T* keys) {
  const bool all = keys == nullptr && count > 0;
  T largest = all ? largest_of(data, count) : -std::numeric_limits<T>::infinity();
  bool empty = !all;
  for (Index j = 0; j < count && keys != nullptr; ++j) {
    if (keys[j] != T{0}) {
      largest = data[j] > largest ? data[j] : largest;
      empty = false;
    }
  }
  if (empty) {
    std::fill(data, data + count, T{0});
    return;
  }
  const Simd<T> factor(exponentials_of_row(data, count, largest, keys));
  for_each_vector<T>(count, [&](Index j, Index lanes) { (Simd<T>::load(data + j, lanes) * factor).store(data + j, lanes); });
}

/// x ← softmax(x), row by row: see softmax(). `keys` is SoftmaxOptions::visible_columns.
template <class T>
EIGEN_DONT_INLINE void softmax_rows(T* data, Index stride, Index rows, Index columns, Index first, bool causal, Index reach,
                                    const T* keys) {
  for (Index row = 0; row < rows; ++row, data += stride) {
    const Index position = first + row, behind = position - reach, ahead = (causal ? position : position + reach) + 1;
    const Index begin = behind > 0 ? behind : 0, end = ahead < columns ? ahead : columns;
    std::fill(data, data + begin, T{0});
    std::fill(data + end, data + columns, T{0});
    softmax_row(data + begin, end - begin, keys == nullptr ? nullptr : keys + begin);
  }
}

/// to_j ← x_j · z_j · factor.
template <class T>
EIGEN_ALWAYS_INLINE void gate_vector(const T* z, Simd<T> factor, const T* x, T* to, Index lanes) {
  (Simd<T>::load(x, lanes) * (Simd<T>::load(z, lanes) * factor)).store(to, lanes);
}
/// to_j ← z_j + residual_j. Needs its own loop: in a shared loop, a compiler could fuse the sum with gate_vector()'s product.
template <class T>
EIGEN_ALWAYS_INLINE void add_vector(const T* z, const T* residual, T* to, Index lanes) {
  (Simd<T>::load(z, lanes) + Simd<T>::load(residual, lanes)).store(to, lanes);
}

/// `to` ← x ⊙ softmax(z) + residual, row by row. Overwrites z. `residual` may be nullptr; `to` may be x or `residual`.
template <class T>
EIGEN_DONT_INLINE void softmax_gate_rows(Index rows, Index columns, T* z, Index z_stride, const T* x, Index x_stride,
                                         const T* residual, Index residual_stride, T* to, Index to_stride) {
  for (Index row = 0; row < (columns > 0 ? rows : 0); ++row) {
    const T* const added = residual == nullptr ? nullptr : residual + row * residual_stride;
    T* const gated = added == nullptr ? to : z;
    const Simd<T> factor(exponentials_of_row<T>(z, columns, largest_of(z, columns), nullptr));
    for_each_vector<T>(columns, [&](Index j, Index lanes) { gate_vector<T>(z + j, factor, x + j, gated + j, lanes); });
    for_each_vector<T>(added == nullptr ? 0 : columns,
                       [&](Index j, Index lanes) { add_vector<T>(z + j, added + j, to + j, lanes); });
    z += z_stride;
    x += x_stride;
    to += to_stride;
  }
}

/// x ← exp(x - largest) in one vector of columns, over `rows` > 0 rows; returns 1 / Σ x for each column.
template <class T>
EIGEN_ALWAYS_INLINE Simd<T> exponentials_of_columns(T* data, Index stride, Index rows, Index lanes) {
  using V = Simd<T>;
  V largest = V::load(data, lanes);
  for (Index i = 1; i < rows; ++i) {
    largest = max(largest, V::load(data + i * stride, lanes));
  }
  RunningSum<V> sum;
  for (Index i = 0; i < rows; ++i) {
    const V value = exp_of_negative(V::load(data + i * stride, lanes) - largest);
    value.store(data + i * stride, lanes);
    sum.add(value);
  }
  return V(T{1}) / sum.lanes();
}

/// x ← softmax(x), column by column.
template <class T>
EIGEN_DONT_INLINE void softmax_columns(T* data, Index stride, Index rows, Index columns) {
  using V = Simd<T>;
  for_each_vector<T>(rows > 0 ? columns : 0, [&](Index j, Index lanes) {
    const V factor = exponentials_of_columns(data + j, stride, rows, lanes);
    for (Index i = 0; i < rows; ++i) {
      (V::load(data + i * stride + j, lanes) * factor).store(data + i * stride + j, lanes);
    }
  });
}

/// `to` ← x ⊙ softmax(z) + residual, with the softmax over each column. Otherwise like softmax_gate_rows().
template <class T>
EIGEN_DONT_INLINE void softmax_gate_columns(Index rows, Index columns, T* z, Index z_stride, const T* x, Index x_stride,
                                            const T* residual, Index residual_stride, T* to, Index to_stride) {
  for_each_vector<T>(rows > 0 ? columns : 0, [&](Index j, Index lanes) {
    const Simd<T> factor = exponentials_of_columns(z + j, z_stride, rows, lanes);
    for (Index i = 0; i < rows; ++i) {
      T* const own = z + i * z_stride + j;
      gate_vector<T>(own, factor, x + i * x_stride + j, residual == nullptr ? to + i * to_stride + j : own, lanes);
    }
    for (Index i = 0; residual != nullptr && i < rows; ++i) {
      add_vector<T>(z + i * z_stride + j, residual + i * residual_stride + j, to + i * to_stride + j, lanes);
    }
  });
}

/// Backward pass of softmax_columns(): `gradient` holds ∂A and becomes A ⊙ (∂A - Σ_i A_ij ∂A_ij).
template <class T>
EIGEN_DONT_INLINE void softmax_columns_backward(const T* weights, Index weights_stride, Index rows, Index columns, T* gradient,
                                                Index gradient_stride) {
  using V = Simd<T>;
  for_each_vector<T>(columns, [&](Index j, Index lanes) {
    V product(T{0});
    for (Index i = 0; i < rows; ++i) {
      product =
          fma(V::load(weights + i * weights_stride + j, lanes), V::load(gradient + i * gradient_stride + j, lanes), product);
    }
    for (Index i = 0; i < rows; ++i) {
      const V centred = V::load(gradient + i * gradient_stride + j, lanes) - product;
      (V::load(weights + i * weights_stride + j, lanes) * centred).store(gradient + i * gradient_stride + j, lanes);
    }
  });
}

template <class T>
inline constexpr SoftmaxGateKernels<T> table<SoftmaxGateKernels<T>> =
    {.softmax_gate_rows = &softmax_gate_rows<T>, .softmax_gate_columns = &softmax_gate_columns<T>};

template <class T>
inline constexpr SoftmaxGateDerivatives<T> table<SoftmaxGateDerivatives<T>> =
    {.softmax_columns = &softmax_columns<T>, .softmax_columns_backward = &softmax_columns_backward<T>};
