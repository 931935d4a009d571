// FFT of many columns at once: see ops/fourier_passes.hpp.
//
// A row of scratch is one vector of real and one of imaginary parts.

/// A vector of complex numbers.
template <class T>
struct Complex {
  Simd<T> re, im;

  static EIGEN_ALWAYS_INLINE Complex load(const T* row) { return {Simd<T>::load(row), Simd<T>::load(row + Simd<T>::width)}; }
  EIGEN_ALWAYS_INLINE void store(T* row) const {
    re.store(row);
    im.store(row + Simd<T>::width);
  }

  friend EIGEN_ALWAYS_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend EIGEN_ALWAYS_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  /// This number times c + i·s; minus_s is -s.
  EIGEN_ALWAYS_INLINE Complex times(Simd<T> c, Simd<T> s, Simd<T> minus_s) const {
    return {fma(re, c, im * minus_s), fma(re, s, im * c)};
  }
  EIGEN_ALWAYS_INLINE Complex times(const FourierFactor<T>& f) const {
    return times(Simd<T>(f.c), Simd<T>(f.s), Simd<T>(f.minus_s));
  }
  EIGEN_ALWAYS_INLINE Complex times_conjugate(const FourierFactor<T>& f) const {
    return times(Simd<T>(f.c), Simd<T>(f.minus_s), Simd<T>(f.s));
  }
  /// This number times -i.
  EIGEN_ALWAYS_INLINE Complex quarter() const { return {im, -re}; }
};

/// The number of values in a row of scratch.
template <class T>
inline constexpr Index fourier_row = 2 * Simd<T>::width;

/// Replaces z by its forward transform, with the kernel e^(-2πijk/R). For odd R, `roots` holds e^(-2πik/R) for k < R.
template <unsigned R, class T>
EIGEN_ALWAYS_INLINE void butterfly(Complex<T> (&z)[R], [[maybe_unused]] const FourierFactor<T>* roots) {
  if constexpr (R == 2) {
    const Complex<T> sum = z[0] + z[1];
    z[1] = z[0] - z[1];
    z[0] = sum;
  } else if constexpr (R == 4) {
    const Complex<T> a = z[0] + z[2], b = z[0] - z[2], c = z[1] + z[3], d = (z[1] - z[3]).quarter();
    z[0] = a + c;
    z[1] = b + d;
    z[2] = a - c;
    z[3] = b - d;
  } else {
    constexpr unsigned half = (R - 1) / 2;
    Complex<T> sums[half], differences[half];
    const Complex<T> first = z[0];
    GATED_UNROLL
    for (unsigned k = 0; k < half; ++k) {
      sums[k] = z[k + 1] + z[R - 1 - k];
      differences[k] = z[k + 1] - z[R - 1 - k];
      z[0] = z[0] + sums[k];
    }
    GATED_UNROLL
    for (unsigned q = 1; q <= half; ++q) {
      Complex<T> a = first, b = {Simd<T>(T{0}), Simd<T>(T{0})};
      GATED_UNROLL
      for (unsigned k = 0; k < half; ++k) {
        const FourierFactor<T>& root = roots[q * (k + 1) % R];
        const Simd<T> c(root.c), s(root.minus_s);  // cos φ and sin φ of the root e^(-iφ) = cos φ - i sin φ
        a = {fma(sums[k].re, c, a.re), fma(sums[k].im, c, a.im)};
        b = {fma(differences[k].re, s, b.re), fma(differences[k].im, s, b.im)};
      }
      const Complex<T> turned = b.quarter();
      z[q] = a + turned;
      z[R - q] = a - turned;
    }
  }
}

/// One pass of radix R: see fourier_pass().
///
/// An inverse transform is a forward one with real and imaginary parts swapped: if `inverse`, loads and stores swap them.
template <unsigned R, class T>
EIGEN_DONT_INLINE void pass_of_radix(T* x, Index groups, Index m, Index count, bool inverse, const FourierFactor<T>* roots,
                                     const FourierFactor<T>* turns) {
  constexpr Index row = fourier_row<T>;
  const Index step = m * row, re = inverse ? Simd<T>::width : 0, im = Simd<T>::width - re;
  const bool turns_before = inverse && m > 1, turns_after = !inverse && m > 1;
  const Index turns_of_row = m > 1 ? R - 1 : 0;
  for (Index g = 0; g < groups; ++g) {
    const FourierFactor<T>* f = turns;
    for (Index j = 0; j < count; ++j, x += row, f += turns_of_row) {
      Complex<T> z[R];
      GATED_UNROLL
      for (unsigned q = 0; q < R; ++q) {
        const T* const from = x + static_cast<Index>(q) * step;
        z[q] = {Simd<T>::load(from + re), Simd<T>::load(from + im)};
      }
      if (turns_before) {
        GATED_UNROLL
        for (unsigned q = 1; q < R; ++q) {
          z[q] = z[q].times(f[q - 1]);
        }
      }
      butterfly<R>(z, roots);
      if (turns_after) {
        GATED_UNROLL
        for (unsigned q = 1; q < R; ++q) {
          z[q] = z[q].times(f[q - 1]);
        }
      }
      GATED_UNROLL
      for (unsigned q = 0; q < R; ++q) {
        T* const to = x + static_cast<Index>(q) * step;
        z[q].re.store(to + re);
        z[q].im.store(to + im);
      }
    }
    x += static_cast<Index>(R) * step - count * row;
  }
}

/// One pass over `groups` blocks of radix · m rows. A butterfly combines `radix` rows that are m apart; the pass runs `count`
/// of the m butterflies of each block. `turns` holds e^(-2πijq/(radix·m)) for q = 1 … radix - 1, j < m; may be null if m = 1.
template <class T>
void fourier_pass(Index radix, T* x, Index groups, Index m, Index count, bool inverse, const FourierFactor<T>* roots,
                  const FourierFactor<T>* turns) {
  switch (radix) {
    case 2:
      return pass_of_radix<2>(x, groups, m, count, inverse, roots, turns);
    case 3:
      return pass_of_radix<3>(x, groups, m, count, inverse, roots, turns);
    case 4:
      return pass_of_radix<4>(x, groups, m, count, inverse, roots, turns);
    case 5:
      return pass_of_radix<5>(x, groups, m, count, inverse, roots, turns);
    default:
      return pass_of_radix<7>(x, groups, m, count, inverse, roots, turns);
  }
}

/// Loads `real` and `imaginary`, each up to one vector wide, into x, and scales each row if `scales` is given. Absent imaginary
/// parts are 0.
template <class T>
EIGEN_DONT_INLINE void fourier_load(const MatrixView<const T>& real, const MatrixView<const T>& imaginary, const T* scales, T* x) {
  const auto part = [](const MatrixView<const T>& from, Index t) GATED_INLINED {
    return from ? Simd<T>::load(from.data + t * from.stride, from.columns()) : Simd<T>(T{0});
  };
  for (Index t = 0; t < real.rows(); ++t, x += fourier_row<T>) {
    const Simd<T> scale(scales == nullptr ? T{1} : scales[t]);
    Complex<T>{part(real, t) * scale, part(imaginary, t) * scale}.store(x);
  }
}

/// The reverse of fourier_load(): stores row t of x in row t of `real` and `imaginary`; if `adds`, adds to these rows instead.
/// Scales each row if `scales` is given.
template <class T>
EIGEN_DONT_INLINE void fourier_store(const T* x, const T* scales, bool adds, const MatrixView<T>& real, const MatrixView<T>& imaginary) {
  const auto store = [adds](Simd<T> value, const MatrixView<T>& rows, Index t) {
    if (rows) {
      T* const to = rows.data + t * rows.stride;
      (adds ? Simd<T>::load(to, rows.columns()) + value : value).store(to, rows.columns());
    }
  };
  for (Index t = 0; t < real.rows(); ++t, x += fourier_row<T>) {
    const auto z = Complex<T>::load(x);
    const Simd<T> scale(scales == nullptr ? T{1} : scales[t]);
    store(z.re * scale, real, t);
    store(z.im * scale, imaginary, t);
  }
}

/// `to` ← factors ⊙ x, row by row. Conjugates the factors if `conjugate`, and adds to `to` if `adds`. `to` may be x.
template <class T>
EIGEN_DONT_INLINE void fourier_multiply(const FourierFactor<T>* factors, bool conjugate, Index rows, const T* x, T* to,
                                        bool adds) {
  for (Index p = 0; p < rows; ++p, x += fourier_row<T>, to += fourier_row<T>) {
    const auto z = Complex<T>::load(x), product = conjugate ? z.times_conjugate(factors[p]) : z.times(factors[p]);
    (adds ? Complex<T>::load(to) + product : product).store(to);
  }
}

/// sum += conj(factors) ⊙ x.
template <class T>
EIGEN_DONT_INLINE void fourier_add_product(const FourierFactor<T>* factors, Index rows, const T* x, T* sum) {
  for (Index p = 0; p < rows; ++p, x += fourier_row<T>, sum += fourier_row<T>) {
    (Complex<T>::load(sum) + Complex<T>::load(x).times_conjugate(factors[p])).store(sum);
  }
}

/// sum += a ⊙ conj(b).
template <class T>
EIGEN_DONT_INLINE void fourier_add_correlation(const T* a, const T* b, Index rows, T* sum) {
  for (Index p = 0; p < rows; ++p, a += fourier_row<T>, b += fourier_row<T>, sum += fourier_row<T>) {
    const auto left = Complex<T>::load(a), right = Complex<T>::load(b), before = Complex<T>::load(sum);
    Complex<T>{fma(left.im, right.im, fma(left.re, right.re, before.re)),
               fma(left.im, right.re, before.im) - left.re * right.im}
        .store(sum);
  }
}

/// to[t] += Σ (real ⊙ Re x + imaginary ⊙ Im x) over the columns of row t.
template <class T>
EIGEN_DONT_INLINE void fourier_add_dots(const MatrixView<const T>& real, const MatrixView<const T>& imaginary, const T* x, T* to) {
  for (Index t = 0; t < real.rows(); ++t, x += fourier_row<T>) {
    const auto z = Complex<T>::load(x);
    const Simd<T> left = Simd<T>::load(real.data + t * real.stride, real.columns());
    const Simd<T> right = imaginary ? Simd<T>::load(imaginary.data + t * imaginary.stride, imaginary.columns()) : Simd<T>(T{0});
    to[t] += fma(left, z.re, right * z.im).sum();
  }
}

/// Sums over the lanes of row p: to[2p] = Σ real parts, to[2p + 1] = Σ imaginary parts.
template <class T>
EIGEN_DONT_INLINE void fourier_sum_lanes(const T* x, Index rows, T* to) {
  for (Index p = 0; p < rows; ++p, x += fourier_row<T>) {
    const auto z = Complex<T>::load(x);
    to[2 * p] = z.re.sum();
    to[2 * p + 1] = z.im.sum();
  }
}

/// Separates x, the transform of a + i·b, into the transforms of a and b, which are sets of real columns. Bin k of x is in row
/// order[k]. Row m ≤ n/2 of `real` and `imaginary` is bin m, first of a's columns, then of b's.
template <class T>
EIGEN_DONT_INLINE void fourier_split(const T* x, const Index* order, Index n, T* real, Index real_stride, T* imaginary,
                                     Index imaginary_stride, Index columns) {
  const Simd<T> half(T(0.5));
  for (Index m = 0; 2 * m <= n; ++m, real += real_stride, imaginary += imaginary_stride) {
    const auto a = Complex<T>::load(x + order[m] * fourier_row<T>),
               b = Complex<T>::load(x + order[(n - m) % n] * fourier_row<T>);
    TileRow<T>{(a.re + b.re) * half, (a.im + b.im) * half}.store(real, columns);
    TileRow<T>{(a.im - b.im) * half, (b.re - a.re) * half}.store(imaginary, columns);
  }
}

/// Loads `real` and `imaginary`, each with up to one vector of rows, transposed: column k becomes row k of x. Missing rows are
/// 0.
template <class T>
EIGEN_DONT_INLINE void fourier_load_transposed(const MatrixView<const T>& real, const MatrixView<const T>& imaginary, T* x) {
  constexpr Index width = Simd<T>::width, row = fourier_row<T>;
  for (const MatrixView<const T>* from : {&real, &imaginary}) {
    T* const to = x + (from == &real ? 0 : width);
    Index k = 0;
    for (; from->rows() == width && k + width <= from->columns(); k += width) {
      transpose_block(from->data + k, from->stride, to + k * row, row);
    }
    for (; k < from->columns(); ++k) {
      for (Index i = 0; i < width; ++i) {
        to[k * row + i] = i < from->rows() ? from->data[i * from->stride + k] : T{0};
      }
    }
  }
}

/// Applies epilogue `e` to the real parts of a transform over d columns, and stores them as rows of y. Bin k is in row order[k]
/// of x. Lane i of bin k belongs to token first + i; if `mirrored`, lane i of bin -k belongs to token first - i. Stores lanes
/// `low` … `high` - 1.
template <class T>
EIGEN_DONT_INLINE void fourier_finish(const T* x, const Index* order, bool mirrored, Index first, Index low, Index high,
                                      const Epilogue<T>& e, const MatrixView<T>& y) {
  constexpr Index width = Simd<T>::width, row = fourier_row<T>;
  const Index d = y.columns();
  if (low >= high) {
    return;
  }
  // A tile's rows are consecutive tokens in ascending order. Mirrored lanes are in descending order, so they fill it bottom-up.
  const Index token = mirrored ? first - high + 1 : first + low, skipped = mirrored ? width - high : low;
  alignas(64) T gathered[Simd<T>::lane_count * Simd<T>::lane_count], tile[2 * Simd<T>::lane_count * Simd<T>::lane_count];
  for (Index column = 0; column < d; column += row) {
    for (Index part = 0; part < 2; ++part) {
      for (Index i = 0; i < width; ++i) {
        const Index k = column + part * width + i;
        const Simd<T> bin = k < d ? Simd<T>::load(x + order[mirrored ? (d - k) % d : k] * row) : Simd<T>(T{0});
        bin.store(gathered + i * width);
      }
      T* const to = tile + part * width;
      mirrored ? transpose_block(gathered, width, to + (width - 1) * row, -row) : transpose_block(gathered, width, to, row);
    }
    finish_tile(e, token, column, high - low, d - column < row ? d - column : row, tile + skipped * row,
                y.data + token * y.stride + column, y.stride);
  }
}

template <class T>
inline constexpr FourierKernels<T> table<FourierKernels<T>> =
    {.fourier_pass = &fourier_pass<T>, .fourier_load = &fourier_load<T>, .fourier_store = &fourier_store<T>,
     .fourier_multiply = &fourier_multiply<T>, .fourier_add_product = &fourier_add_product<T>};

template <class T>
inline constexpr FourierMixingKernels<T> table<FourierMixingKernels<T>> =
    {.fourier_split = &fourier_split<T>, .fourier_load_transposed = &fourier_load_transposed<T>,
     .fourier_finish = &fourier_finish<T>};

template <class T>
inline constexpr FourierDerivatives<T> table<FourierDerivatives<T>> =
    {.fourier_add_correlation = &fourier_add_correlation<T>, .fourier_add_dots = &fourier_add_dots<T>,
     .fourier_sum_lanes = &fourier_sum_lanes<T>};
