// Backward pass of attention weights: see attend_backward().

/// Backward pass from A ⊙ D (A: attention weights, D: dropout mask) to the scores S, for queries from `first` on. On entry,
/// `weights` is S for a pointwise kernel or A for a softmax, and `gradient` is ∂(A ⊙ D). On return, they are A ⊙ D and ∂S.
template <class T>
EIGEN_DONT_INLINE void scores_backward_rows(const Scoring<T>& scoring, const std::optional<Activation>& kernel, Index first,
                                            Index rows, Index columns, T* weights, Index weights_stride, T* gradient,
                                            Index gradient_stride) {
  using V = Simd<T>;
  const bool drops = scoring.dropout.is_active();
  const auto share_of = [&](Index i, Index j, Index lanes) GATED_INLINED {
    return drops ? dropout_of(scoring.dropout, first + i, j, lanes) : V(T{1});
  };
  if (kernel) {
    return for_each_activated<T>(
        *kernel, weights, weights_stride, rows, columns, [&](Index i, Index j, Index lanes, V value, V derivative) {
          T *const weight = weights + i * weights_stride + j, *const ds = gradient + i * gradient_stride + j;
          const V kept = share_of(i, j, lanes), back = derivative * V::load(ds, lanes) * kept;
          (visible_of(scoring, first + i, j, lanes, value) * kept).store(weight, lanes);
          visible_of(scoring, first + i, j, lanes, back).store(ds, lanes);
        });
  }
  const V share(T{1} / scoring.weight_scale);  // A is weight_scale times the softmax
  for (Index i = 0; i < rows; ++i) {
    T *const weight = weights + i * weights_stride, *const ds = gradient + i * gradient_stride;
    RowSum<T> products;
    for_each_vector<T>(columns, [&](Index j, Index lanes) {
      const V kept = share_of(i, j, lanes), a = V::load(weight + j, lanes), back = V::load(ds + j, lanes) * kept;
      products.at(j) = fma(a, back, products.at(j));
      back.store(ds + j, lanes);
    });
    const V mean = V(products.total()) * share;
    for_each_vector<T>(columns, [&](Index j, Index lanes) {
      const V a = V::load(weight + j, lanes);
      (a * (V::load(ds + j, lanes) - mean)).store(ds + j, lanes);
      (a * share_of(i, j, lanes)).store(weight + j, lanes);
    });
  }
}
