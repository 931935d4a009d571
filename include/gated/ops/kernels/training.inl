// Loss and optimizer: see cross_entropy() and AdamW.

/// `largest` = max_j x_j and `rest` = log Σ_j exp(x_j - largest).
template <class T>
EIGEN_DONT_INLINE void log_sum_exp_of_row(const T* row, Index count, T* largest, T* rest) {
  const T most = count == 0 ? -std::numeric_limits<T>::infinity() : largest_of(row, count);
  const T sum = running_sum_of_row<T, 1>(count, [&](Index j, Index lanes) GATED_INLINED {
    return exp_of_negative(Simd<T>::load(row + j, lanes) - Simd<T>(most)).keep(lanes);
  });
  *largest = most;
  *rest = is_portable ? static_cast<T>(elementary::log(static_cast<double>(sum))) : std::log(sum);
}

/// `to` = scale · (softmax(x) - t) or, if `adds`, `to` += scale · (softmax(x) - t). Here softmax(x) = exp(x - largest - rest),
/// and the target distribution t has probability `everywhere` in each class, plus `more` in class `target`.
template <class T>
EIGEN_DONT_INLINE void softmax_difference(const T* row, Index count, T largest, T rest, T everywhere, Index target, T more,
                                          T scale, T* to, bool adds) {
  for_each_vector<T>(count, [&](Index j, Index lanes) {
    const Simd<T> x = Simd<T>::load(row + j, lanes);
    Simd<T> difference = exp_of_negative((x - Simd<T>(largest)) - Simd<T>(rest)) - Simd<T>(everywhere);
    if (target >= j && target < j + lanes) {
      alignas(64) T values[Simd<T>::lane_count];
      difference.store(values);
      values[target - j] -= more;
      difference = Simd<T>::load(values);
    }
    const Simd<T> value = difference * Simd<T>(scale);
    (adds ? Simd<T>::load(to + j, lanes) + value : value).store(to + j, lanes);
  });
}

/// One AdamW step for `count` parameters.
template <class T>
EIGEN_DONT_INLINE void adamw_step(const AdamWFactors<T>& f, Index count, T* p, const T* g, T* m, T* v) {
  using V = Simd<T>;
  for_each_vector<T>(count, [&](Index i, Index lanes) {
    const V gradient = V::load(g + i, lanes);
    const V mean = fma(V(f.beta1), V::load(m + i, lanes), V(f.new1) * gradient);
    const V square = fma(V(f.beta2), V::load(v + i, lanes), V(f.new2) * gradient * gradient);
    const V shift = V(f.size) * mean / fma(sqrt(square), V(f.root), V(f.eps));
    mean.store(m + i, lanes);
    square.store(v + i, lanes);
    (V::load(p + i, lanes) * V(f.decay) - shift).store(p + i, lanes);
  });
}

template <class T>
inline constexpr LossKernels<T> table<LossKernels<T>> = {.log_sum_exp_of_row = &log_sum_exp_of_row<T>,
                                                         .softmax_difference = &softmax_difference<T>};

template <class T>
inline constexpr OptimizerKernels<T> table<OptimizerKernels<T>> = {.adamw_step = &adamw_step<T>};
