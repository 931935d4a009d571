// Element-wise loops: see Term.

/// Evaluates a term at elements (i, j), (i, j + 1), …: as many as a vector has lanes.
template <class T>
struct Evaluate {
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::Read<T>& x, Index i, Index j, Index lanes) {
    return Simd<T>::load(x.data + i * x.stride + j, lanes);
  }
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::PerRow<T>& x, Index i, Index, Index) {
    return Simd<T>(x.data[i * x.stride]);
  }
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::Number<T>& x, Index, Index, Index) { return Simd<T>(x.value); }
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::Mask<T>& x, Index i, Index j, Index lanes) {
    return dropout_of(x.mask, i, j, lanes);
  }
  template <class A, class B>
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::Product<A, B>& x, Index i, Index j, Index lanes) {
    return of(x.a, i, j, lanes) * of(x.b, i, j, lanes);
  }
  template <class A, class B>
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::Difference<A, B>& x, Index i, Index j, Index lanes) {
    return of(x.a, i, j, lanes) - of(x.b, i, j, lanes);
  }
  template <class A, class B>
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::Sum<A, B>& x, Index i, Index j, Index lanes) {
    return of(x.a, i, j, lanes) + of(x.b, i, j, lanes);
  }
  template <class X, class A, class B>
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::WherePositive<X, A, B>& x, Index i, Index j, Index lanes) {
    return select_less(Simd<T>(T{0}), of(x.x, i, j, lanes), of(x.a, i, j, lanes), of(x.b, i, j, lanes));
  }
  /// a + b·c, as one fma().
  template <class A, class B, class C>
  static EIGEN_ALWAYS_INLINE Simd<T> of(const terms::Sum<A, terms::Product<B, C>>& x, Index i, Index j, Index lanes) {
    return fma(of(x.b.a, i, j, lanes), of(x.b.b, i, j, lanes), of(x.a, i, j, lanes));
  }
};

/// y = term, or y += term if `adds`, for rows `first` … `first` + `rows` - 1 of the term. y points at the first of these rows.
template <class T, class A>
EIGEN_DONT_INLINE void assign_rows(const A& term, Index first, Index rows, Index columns, T* y, Index stride, bool adds) {
  for (Index i = first; i < first + rows; ++i, y += stride) {
    for_each_vector<T>(columns, [&](Index j, Index lanes) {
      const Simd<T> value = Evaluate<T>::of(term, i, j, lanes);
      (adds ? Simd<T>::load(y + j, lanes) + value : value).store(y + j, lanes);
    });
  }
}

/// to[j] += Σ_i term_ij for `columns` columns from `first` on, at most `vectors_together` vectors. Sums in row order; the
/// rounding error does not grow beyond that of 64 rows. Calls `f(i, j, lanes, vector)` for each vector of the term.
template <class T, class A, class F>
EIGEN_ALWAYS_INLINE void sum_columns_with(const A& term, Index rows, Index first, Index columns, T* to, const F& f) {
  constexpr unsigned together = vectors_together;
  constexpr Index block = 64, width = Simd<T>::width;  // block: rows per compensated addition
  const Index vectors = (columns + width - 1) / width;
  const auto lanes_of = [&](Index k) { return width < columns - k * width ? width : columns - k * width; };
  RunningSum<Simd<T>> sums[together];
  const auto add_rows = [&](auto all) {  // true_type: `together` full vectors; false_type: `vectors` vectors
    for (Index i = 0; i < rows;) {
      Simd<T> parts[together];
      for (unsigned k = 0; k < together; ++k) {
        parts[k] = Simd<T>(T{0});
      }
      for (const Index end = i + block < rows ? i + block : rows; i < end; ++i) {
        const auto add = [&](Index k, Index lanes) {
          const Simd<T> value = Evaluate<T>::of(term, i, first + k * width, lanes);
          f(i, first + k * width, lanes, value);
          parts[k] = parts[k] + value;
        };
        if constexpr (decltype(all)::value) {
          GATED_UNROLL
          for (Index k = 0; k < Index{together}; ++k) {
            add(k, width);
          }
        } else {
          for (Index k = 0; k < vectors; ++k) {
            add(k, lanes_of(k));
          }
        }
      }
      for (unsigned k = 0; k < together; ++k) {
        sums[k].add(parts[k]);
      }
    }
  };
  if (columns == Index{together} * width) {
    add_rows(std::true_type{});
  } else {
    add_rows(std::false_type{});
  }
  for (Index k = 0; k < vectors; ++k) {
    T* const at = to + first + k * width;
    (Simd<T>::load(at, lanes_of(k)) + sums[k].lanes()).store(at, lanes_of(k));
  }
}

/// sum_columns_with() without f.
template <class T, class A>
EIGEN_DONT_INLINE void sum_columns(const A& term, Index rows, Index first, Index columns, T* to) {
  sum_columns_with(term, rows, first, columns, to, [](Index, Index, Index, Simd<T>) {});
}

/// Like sum_columns(), but also assigns the term to y in these columns, in the same pass.
template <class T, class A>
EIGEN_DONT_INLINE void assign_and_sum_columns(const A& term, Index rows, Index first, Index columns, T* y, Index stride,
                                              T* to) {
  sum_columns_with(term, rows, first, columns, to,
                   [&](Index i, Index j, Index lanes, Simd<T> value) { value.store(y + i * stride + j, lanes); });
}

/// ActivationBackward for rows `first` … `first` + `rows` - 1.
template <class T>
EIGEN_DONT_INLINE void activation_backward_rows(const ActivationBackward<T>& b, Index first, Index rows) {
  const auto at = [&](const auto& x, Index i, Index j) { return x.data + (first + i) * x.stride + j; };
  for_each_activated<T>(b.activation, at(b.z, 0, 0), b.z.stride, rows, b.dy.columns(),
                        [&](Index i, Index j, Index lanes, Simd<T> value, Simd<T> derivative) {
                          const Simd<T> given = Simd<T>::load(at(b.dy, i, j), lanes);
                          if (b.to_factor) {
                            const Simd<T> change = given * value;
                            T* const to = at(b.to_factor, i, j);
                            (b.adds_to_factor ? Simd<T>::load(to, lanes) + change : change).store(to, lanes);
                          }
                          const Simd<T> change =
                              (b.factor ? given * Simd<T>::load(at(b.factor, i, j), lanes) : given) * derivative;
                          T* const to = at(b.dz, i, j);
                          (b.adds_to_dz ? Simd<T>::load(to, lanes) + change : change).store(to, lanes);
                        });
}

/// y[j] = the mean of column j over `rows` rows, summed in order.
template <class T>
EIGEN_DONT_INLINE void mean_of_rows(const T* x, Index stride, Index rows, Index columns, T* y) {
  const Simd<T> factor(rows == 0 ? T{0} : T{1} / static_cast<T>(rows));
  for_each_vector<T>(columns, [&](Index j, Index lanes) {
    RunningSum<Simd<T>> sum;
    for (Index i = 0; i < rows; ++i) {
      sum.add(Simd<T>::load(x + i * stride + j, lanes));
    }
    (sum.lanes() * factor).store(y + j, lanes);
  });
}

template <class T, class A>
inline constexpr AssignKernels<T, A> table<AssignKernels<T, A>> = {.assign_rows = &assign_rows<T, A>};

template <class T, class A>
inline constexpr SumKernels<T, A> table<SumKernels<T, A>> = {.sum_columns = &sum_columns<T, A>};

template <class T, class A>
inline constexpr AssignAndSumKernels<T, A> table<AssignAndSumKernels<T, A>> = {.assign_and_sum_columns =
                                                                                   &assign_and_sum_columns<T, A>};

template <class T>
inline constexpr RowKernels<T> table<RowKernels<T>> = {.activate_rows = &activate_rows<T>,
                                                       .mean_of_rows = &mean_of_rows<T>,
                                                       .normalize_rows = &normalize_rows<T>,
                                                       .rotate_rows = &rotate_rows<T>};

template <class T>
inline constexpr DerivativeKernels<T> table<DerivativeKernels<T>> = {
    .activate_and_save_derivative = &activate_and_save_derivative<T>,
    .activation_backward_rows = &activation_backward_rows<T>,
    .normalize_backward_rows = &normalize_backward_rows<T>,
    .scores_backward_rows = &scores_backward_rows<T>};
