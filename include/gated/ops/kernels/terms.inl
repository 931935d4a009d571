// Element-wise loops: see Term.

template <class T, class Act>
EIGEN_ALWAYS_INLINE Simd<T> evaluate(const terms::Read<T>& x, Act, Index i, Index j, Index lanes) {
  return Simd<T>::load(x.data + i * x.stride + j, lanes);
}
template <class T, class Act>
EIGEN_ALWAYS_INLINE Simd<T> evaluate(const terms::PerRow<T>& x, Act, Index i, Index, Index) {
  return Simd<T>(x.data[i * x.stride]);
}
template <class T, class Act>
EIGEN_ALWAYS_INLINE Simd<T> evaluate(const terms::Number<T>& x, Act, Index, Index, Index) {
  return Simd<T>(x.value);
}
template <class T, class Act>
EIGEN_ALWAYS_INLINE Simd<T> evaluate(const terms::Mask<T>& x, Act, Index i, Index j, Index lanes) {
  return dropout_of(x.mask, i, j, lanes);
}
template <class A, bool slope, class Act>
EIGEN_ALWAYS_INLINE auto evaluate(const terms::Activated<A, slope>& x, Act act, Index i, Index j, Index lanes) {
  if constexpr (slope) {
    return act.derivative(evaluate(x.x, act, i, j, lanes));
  } else {
    return act.value(evaluate(x.x, act, i, j, lanes));
  }
}
template <class A, class B, class Act>
EIGEN_ALWAYS_INLINE auto evaluate(const terms::Product<A, B>& x, Act act, Index i, Index j, Index lanes) {
  return evaluate(x.a, act, i, j, lanes) * evaluate(x.b, act, i, j, lanes);
}
template <class A, class B, class Act>
EIGEN_ALWAYS_INLINE auto evaluate(const terms::Difference<A, B>& x, Act act, Index i, Index j, Index lanes) {
  return evaluate(x.a, act, i, j, lanes) - evaluate(x.b, act, i, j, lanes);
}
template <class A, class B, class Act>
EIGEN_ALWAYS_INLINE auto evaluate(const terms::Sum<A, B>& x, Act act, Index i, Index j, Index lanes) {
  return evaluate(x.a, act, i, j, lanes) + evaluate(x.b, act, i, j, lanes);
}
/// a + b·c, rounded once where the machine can.
template <class A, class B, class C, class Act>
EIGEN_ALWAYS_INLINE auto evaluate(const terms::Sum<A, terms::Product<B, C>>& x, Act act, Index i, Index j, Index lanes) {
  return fma(evaluate(x.b.a, act, i, j, lanes), evaluate(x.b.b, act, i, j, lanes), evaluate(x.a, act, i, j, lanes));
}

/// f(act) with the activation of a term, or the identity.
template <class A, class F>
EIGEN_ALWAYS_INLINE void with_activation_of(const A& term, const F& f) {
  if constexpr (terms::has_activation<A>) {
    choose_activation(terms::activation_of(term), f);
  } else {
    f(Identity{});
  }
}

/// y = term, or with `adds` y += term, for the rows from `first` on; y is that of row `first`.
template <class T, class A>
EIGEN_DONT_INLINE void assign_rows(const A& term, Index first, Index rows, Index columns, T* y, Index stride, bool adds) {
  with_activation_of(term, [&](auto act) {
    T* to = y;
    for (Index i = first; i < first + rows; ++i, to += stride) {
      for_each_vector<T>(columns, [&](Index j, Index lanes) {
        const Simd<T> value = evaluate(term, act, i, j, lanes);
        (adds ? Simd<T>::load(to + j, lanes) + value : value).store(to + j, lanes);
      });
    }
  });
}

/// to[j] += Σ_i term_ij for the `columns` from `first` on, of at most `vectors_together` vectors, in the order of the rows, for a
/// million as exactly as for 64. Calls `f(i, j, lanes, vector)` for each vector on its way.
template <class T, class A, class F>
EIGEN_ALWAYS_INLINE void sum_columns_with(const A& term, Index rows, Index first, Index columns, T* to, const F& f) {
  constexpr unsigned together = vectors_together;
  constexpr Index block = 64, width = Simd<T>::width;  // rows that are added up plainly, before their sum joins the exact one
  const Index vectors = (columns + width - 1) / width;
  const auto lanes_of = [&](Index k) { return width < columns - k * width ? width : columns - k * width; };
  RunningSum<T> sums[together];
  const auto add_rows = [&](auto act, auto all) {  // all vectors, or as many as there are
    for (Index i = 0; i < rows;) {
      Simd<T> parts[together];
      for (unsigned k = 0; k < together; ++k) {
        parts[k] = Simd<T>(T{0});
      }
      for (const Index end = i + block < rows ? i + block : rows; i < end; ++i) {
        if constexpr (decltype(all)::value) {
          GATED_UNROLL
          for (unsigned k = 0; k < together; ++k) {
            const Index j = first + static_cast<Index>(k) * width;
            const Simd<T> value = evaluate(term, act, i, j, width);
            f(i, j, width, value);
            parts[k] = parts[k] + value;
          }
        } else {
          for (Index k = 0; k < vectors; ++k) {
            const Index j = first + k * width, lanes = lanes_of(k);
            const Simd<T> value = evaluate(term, act, i, j, lanes);
            f(i, j, lanes, value);
            parts[k] = parts[k] + value;
          }
        }
      }
      for (unsigned k = 0; k < together; ++k) {
        sums[k].add(parts[k]);
      }
    }
  };
  with_activation_of(term, [&](auto act) {
    if (columns == Index{together} * width) {
      add_rows(act, std::true_type{});
    } else {
      add_rows(act, std::false_type{});
    }
  });
  for (Index k = 0; k < vectors; ++k) {
    T* const at = to + first + k * width;
    (Simd<T>::load(at, lanes_of(k)) + sums[k].lanes()).store(at, lanes_of(k));
  }
}

/// That alone.
template <class T, class A>
EIGEN_DONT_INLINE void sum_columns(const A& term, Index rows, Index first, Index columns, T* to) {
  sum_columns_with(term, rows, first, columns, to, [](Index, Index, Index, Simd<T>) {});
}

/// The same, and y = term in these columns.
template <class T, class A>
EIGEN_DONT_INLINE void assign_and_sum_columns(const A& term, Index rows, Index first, Index columns, T* y, Index stride, T* to) {
  sum_columns_with(term, rows, first, columns, to,
                   [&](Index i, Index j, Index lanes, Simd<T> value) { value.store(y + i * stride + j, lanes); });
}

/// ∂z = ∂y ⊙ gate ⊙ act'(z) in the memory of ∂y, and ∂gate = ∂y ⊙ act(z), or added to it, in one pass. See backward_through().
template <class T>
EIGEN_DONT_INLINE void gate_backward_rows(Activation activation, Index rows, Index columns, T* dy, Index dy_stride, const T* z,
                                          Index z_stride, const T* gate, Index gate_stride, T* to, Index to_stride, bool adds) {
  choose_activation(activation, [&](auto act) {
    for (Index i = 0; i < rows; ++i) {
      T *const d = dy + i * dy_stride, *const at = to + i * to_stride;
      const T *const x = z + i * z_stride, *const g = gate + i * gate_stride;
      for_each_vector<T>(columns, [&](Index j, Index lanes) {
        const Simd<T> given = Simd<T>::load(d + j, lanes), sum = Simd<T>::load(x + j, lanes);
        const Simd<T> change = given * act.value(sum);
        (adds ? Simd<T>::load(at + j, lanes) + change : change).store(at + j, lanes);
        (given * Simd<T>::load(g + j, lanes) * act.derivative(sum)).store(d + j, lanes);
      });
    }
  });
}

/// y[j] = the mean of column j over `rows` rows, in their order.
template <class T>
EIGEN_DONT_INLINE void mean_of_rows(const T* x, Index stride, Index rows, Index columns, T* y) {
  const Simd<T> factor(rows == 0 ? T{0} : T{1} / static_cast<T>(rows));
  for_each_vector<T>(columns, [&](Index j, Index lanes) {
    RunningSum<T> sum;
    const T* from = x + j;
    for (Index i = 0; i < rows; ++i, from += stride) {
      sum.add(Simd<T>::load(from, lanes));
    }
    (sum.lanes() * factor).store(y + j, lanes);
  });
}
