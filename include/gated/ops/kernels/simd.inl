// A vector register with operators.
//
// Formulas are written once, on Simd<T>, and compiled for each instruction set. A partial vector at the end of a row is padded
// with zeros and uses the same instructions as a full one, so a value does not depend on its place in a matrix.

/// A register of values of type `T`.
template <class T>
struct Simd {
  using Lanes = typename Register<T>::Type;
  static constexpr auto lane_count = sizeof(Lanes) / sizeof(T);
  static constexpr Index width = static_cast<Index>(lane_count);
  /// True if fma() rounds once.
  static constexpr bool fuses = fuses_products && !is_portable;
  /// A signed integer per lane, of the size of T.
  using Integers [[gnu::vector_size(sizeof(Lanes))]] = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

  Lanes v;

  EIGEN_ALWAYS_INLINE Simd() = default;
  EIGEN_ALWAYS_INLINE Simd(T scalar) : v(scalar - Lanes{}) {}  // x - 0 is x, even for x = -0

  static EIGEN_ALWAYS_INLINE Simd of(const Lanes& lanes) {
    Simd result;
    result.v = lanes;
    return result;
  }
  /// Converts integers of the size of T.
  static EIGEN_ALWAYS_INLINE Simd from_integers(const Integers& numbers) {
    if constexpr (lane_count == 1) {
      return Simd(static_cast<T>(numbers[0]));
    } else {
      return of(__builtin_convertvector(numbers, Lanes));
    }
  }
  static EIGEN_ALWAYS_INLINE Simd load(const T* from) {
    Simd result;
    std::memcpy(&result.v, from, sizeof(Lanes));
    return result;
  }
  EIGEN_ALWAYS_INLINE void store(T* to) const { std::memcpy(to, &v, sizeof(Lanes)); }

  /// Loads the first `lanes` values; the other lanes are 0.
  static EIGEN_ALWAYS_INLINE Simd load(const T* from, Index lanes) {
    return lanes >= width ? load(from) : load_part(from, lanes);
  }
  /// Stores the first `lanes` values and leaves memory after them alone.
  EIGEN_ALWAYS_INLINE void store(T* to, Index lanes) const {
    if (lanes >= width) [[likely]] {
      return store(to);
    }
    store_part(to, lanes);
  }
  /// Keeps the first `lanes` lanes; the others become 0.
  EIGEN_ALWAYS_INLINE Simd keep(Index lanes) const {
    if (lanes >= width) [[likely]] {
      return *this;
    }
    if constexpr (has_masks) {
      return of(Register<T>::keep(v, lanes));
    } else {
      alignas(64) T buffer[lane_count];
      store(buffer);
      return load_part(buffer, lanes);
    }
  }

  friend EIGEN_ALWAYS_INLINE Simd operator+(Simd a, Simd b) { return of(a.v + b.v); }
  friend EIGEN_ALWAYS_INLINE Simd operator-(Simd a, Simd b) { return of(a.v - b.v); }
  friend EIGEN_ALWAYS_INLINE Simd operator*(Simd a, Simd b) {
    if constexpr (is_portable) {
      return of(a.v * b.v).rounded();
    } else {
      return of(a.v * b.v);
    }
  }
  friend EIGEN_ALWAYS_INLINE Simd operator/(Simd a, Simd b) { return of(a.v / b.v); }
  friend EIGEN_ALWAYS_INLINE Simd operator-(Simd a) { return of(-a.v); }

  /// Stops GCC from reloading the value at each use. Clang needs no help, and would spill the value.
  EIGEN_ALWAYS_INLINE void hold() {
#if EIGEN_COMP_GNUC_STRICT && (defined(__x86_64__) || defined(__i386__))
    if constexpr (lane_count > 1) {
      __asm__("" : "+v"(v));
    }
#elif EIGEN_COMP_GNUC_STRICT && defined(__aarch64__)
    if constexpr (lane_count > 1) {
      __asm__("" : "+w"(v));
    }
#endif
  }

  /// The same value, rounded now: stops compilers from fusing a product with a following sum.
  EIGEN_ALWAYS_INLINE Simd rounded() const {
    if constexpr (lane_count == 1) {
      return of(gated::rounded(v));
    } else {
      Simd result = *this;
#if defined(__SSE2__)
      __asm__("" : "+v"(result.v));
#elif defined(__aarch64__)
      __asm__("" : "+w"(result.v));
#endif
      return result;
    }
  }
  /// The nearest integers, ties to even, for |a| < 2²²; unspecified for NaN.
  friend EIGEN_ALWAYS_INLINE Integers to_integers(Simd a) {
    return reinterpret_cast<Integers>((a.rounded() + Simd(whole)).bits()) - reinterpret_cast<Integers>(Simd(whole).bits());
  }

  /// a·b + c, rounded once if the machine can and the arithmetic is not portable.
  friend EIGEN_ALWAYS_INLINE Simd fma(Simd a, Simd b, Simd c) {
    if constexpr (is_portable) {
      return a * b + c;
    } else {
      return of(Register<T>::fused(a.v, b.v, c.v));
    }
  }
  /// The minimum; NaN if the first argument is NaN.
  friend EIGEN_ALWAYS_INLINE Simd min(Simd a, Simd b) { return of(Register<T>::smaller(a.v, b.v)); }
  /// The maximum; NaN if the first argument is NaN.
  friend EIGEN_ALWAYS_INLINE Simd max(Simd a, Simd b) { return of(Register<T>::larger(a.v, b.v)); }
  /// a < b ? yes : no per lane; `no` if a or b is NaN.
  friend EIGEN_ALWAYS_INLINE Simd select_less(Simd a, Simd b, Simd yes, Simd no) {
    return of(Register<T>::if_less(a.v, b.v, yes.v, no.v));
  }
  friend EIGEN_ALWAYS_INLINE Simd abs(Simd a) { return from_bits(a.bits() & ~sign()); }
  friend EIGEN_ALWAYS_INLINE Simd sqrt(Simd a) { return of(Register<T>::root(a.v)); }

  /// The magnitude of `a` with the sign of `sign_of`, even if that is -0.
  friend EIGEN_ALWAYS_INLINE Simd copysign(Simd a, Simd sign_of) {
    return from_bits((a.bits() & ~sign()) | (sign_of.bits() & sign()));
  }
  /// `a` truncated to the upper half of its significand. The square of the result is exact.
  friend EIGEN_ALWAYS_INLINE Simd upper_half(Simd a) {
    constexpr int lower = (digits + 1) / 2;
    return from_bits(a.bits() & static_cast<Bits>(~Bits{0} << lower));
  }
  /// The integer nearest to `a`, for |a| < 2²⁰; NaN stays NaN.
  friend EIGEN_ALWAYS_INLINE Simd nearest_integer(Simd a) { return (a + Simd(whole)) - Simd(whole); }
  /// 2ⁿ for an integer n if 2ⁿ is a normal number; 0 for the n just below that range (float: -127, double: -1023). Unspecified
  /// for NaN and all other n.
  friend EIGEN_ALWAYS_INLINE Simd power_of_two(Simd n) {
    // The last bits of n + 1.5 · 2^(digits - 1) are n. The code also adds the exponent's bias, then shifts the sum into the
    // exponent.
    const Simd biased = n + Simd(whole + T(std::numeric_limits<T>::max_exponent - 1));
    return from_bits(biased.bits() << (digits - 1));
  }

  /// The first lane.
  EIGEN_ALWAYS_INLINE T first() const {
    if constexpr (lane_count == 1) {
      return v;
    } else {
      return v[0];
    }
  }
  /// The sum over the lanes, in a fixed order.
  EIGEN_ALWAYS_INLINE T sum() const {
    return halved<lane_count / 2>(*this, [](Simd a, Simd b) GATED_INLINED { return a + b; });
  }
  /// The largest lane.
  EIGEN_ALWAYS_INLINE T largest() const {
    return halved<lane_count / 2>(*this, [](Simd a, Simd b) GATED_INLINED { return select_less(a, b, b, a); });
  }

 private:
  static constexpr bool has_masks = requires(const T* from) { Register<T>::load_part(from, Index{}); };

  // Without mask instructions, load_part() and store_part() call non-inlined functions, which keeps their callers inlinable.
  static EIGEN_ALWAYS_INLINE Simd load_part(const T* from, Index lanes) {
    if constexpr (has_masks) {
      return of(Register<T>::load_part(from, lanes));
    } else {
      Simd result;
      load_some(from, lanes, result);
      return result;
    }
  }
  EIGEN_ALWAYS_INLINE void store_part(T* to, Index lanes) const {
    if constexpr (has_masks) {
      Register<T>::store_part(to, v, lanes);
    } else {
      store_some(to, lanes, *this);
    }
  }
  static EIGEN_DONT_INLINE void load_some(const T* from, Index lanes, Simd& to) {
    alignas(64) T buffer[lane_count] = {};
    for (Index i = 0; i < lanes; ++i) {
      buffer[i] = from[i];
    }
    to = load(buffer);
  }
  static EIGEN_DONT_INLINE void store_some(T* to, Index lanes, const Simd& from) {
    alignas(64) T buffer[lane_count];
    from.store(buffer);
    for (Index i = 0; i < lanes; ++i) {
      to[i] = buffer[i];
    }
  }

  /// Combines the upper half of the lanes with the lower half, repeatedly, until one lane is left.
  template <std::size_t Half, class Join>
  static EIGEN_ALWAYS_INLINE T halved(Simd a, const Join& join) {
    if constexpr (Half == 0) {
      return a.first();
    } else {
      return halved<Half / 2>(join(a, a.template lanes_from<Half>(std::make_index_sequence<lane_count>{})), join);
    }
  }
  /// Moves lane `First` and all later lanes to the front; the remaining lanes are unspecified.
  template <std::size_t First, std::size_t... I>
  EIGEN_ALWAYS_INLINE Simd lanes_from(std::index_sequence<I...>) const {
    return of(__builtin_shufflevector(v, v, (I + First < lane_count ? I + First : I)...));
  }

  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
#if EIGEN_COMP_GNUC || EIGEN_COMP_CLANG
  using BitLanes [[gnu::vector_size(sizeof(Lanes))]] = Bits;
#else
  using BitLanes = Bits;
#endif
  static constexpr int digits = std::numeric_limits<T>::digits;
  static constexpr T whole = T(1.5) * static_cast<T>(Bits{1} << (digits - 1));  // adding it drops the fraction
  static constexpr Bits sign() { return Bits{1} << (sizeof(T) * 8 - 1); }

  EIGEN_ALWAYS_INLINE BitLanes bits() const { return __builtin_bit_cast(BitLanes, v); }
  static EIGEN_ALWAYS_INLINE Simd from_bits(const BitLanes& b) { return of(__builtin_bit_cast(Lanes, b)); }
};

/// a·b. In portable arithmetic, the product is rounded at once, never fused with a following sum.
template <class T>
EIGEN_ALWAYS_INLINE T product(T a, T b) {
  if constexpr (is_portable) {
    return gated::rounded(a * b);
  } else {
    return a * b;
  }
}

/// Swaps the off-diagonal `Half` × `Half` blocks of each square of twice that size, then recurses into the blocks. This
/// transposes a square of `Width` in log₂ `Width` rounds (Eklundh, IEEE Transactions on Computers C-21 (1972) 801).
template <std::size_t Width, std::size_t Half, class Lanes, std::size_t... I>
EIGEN_ALWAYS_INLINE void exchange_blocks(Lanes (&rows)[Width], std::index_sequence<I...> lanes) {
  GATED_UNROLL
  for (std::size_t i = 0; i < Width; ++i) {
    if ((i & Half) == 0) {
      const Lanes upper = rows[i], lower = rows[i + Half];
      rows[i] = __builtin_shufflevector(upper, lower, ((I & Half) == 0 ? I : Width + I - Half)...);
      rows[i + Half] = __builtin_shufflevector(upper, lower, ((I & Half) == 0 ? I + Half : Width + I)...);
    }
  }
  if constexpr (Half > 1) {
    exchange_blocks<Width, Half / 2>(rows, lanes);
  }
}

/// to[j][i] = from[i][j] for a square block of Simd<T>::width rows and columns; strides in elements.
template <class T>
EIGEN_ALWAYS_INLINE void transpose_block(const T* from, Index from_stride, T* to, Index to_stride) {
  constexpr auto width = static_cast<std::size_t>(Simd<T>::width);
  typename Simd<T>::Lanes rows[width];
  GATED_UNROLL
  for (std::size_t i = 0; i < width; ++i) {
    rows[i] = Simd<T>::load(from + static_cast<Index>(i) * from_stride).v;
  }
  if constexpr (width > 1) {
    exchange_blocks<width, width / 2>(rows, std::make_index_sequence<width>{});
  }
  GATED_UNROLL
  for (std::size_t j = 0; j < width; ++j) {
    Simd<T>::of(rows[j]).store(to + static_cast<Index>(j) * to_stride);
  }
}

/// Calls `f(offset, lanes)` for each vector of a row of `count` values; `lanes` is `Simd<T>::width` except at the end.
template <class T, class F>
EIGEN_ALWAYS_INLINE void for_each_vector(Index count, F&& f) {
  Index i = 0;
  for (; i + Simd<T>::width <= count; i += Simd<T>::width) {
    f(i, Simd<T>::width);
  }
  if (i < count) {
    f(i, count - i);
  }
}

/// The number of accumulators (vectors) in a sum over a row. In portable arithmetic, they have 16 lanes of floats, or 8 of
/// doubles, in every form: element j is added to lane j mod 16, or mod 8.
template <class T>
inline constexpr Index vectors_of_sum = is_portable ? Index{64 / sizeof(T)} / Simd<T>::width : 1;

/// A sum over the elements of a row, lane by lane.
template <class T>
struct RowSum {
  Simd<T> of[vectors_of_sum<T>];

  EIGEN_ALWAYS_INLINE explicit RowSum(T in_all_lanes = T{0}) {
    for (Simd<T>& sum : of) {
      sum = Simd<T>(in_all_lanes);
    }
  }
  /// The accumulator for the vector that starts at element j, a multiple of the vector width.
  EIGEN_ALWAYS_INLINE Simd<T>& at(Index j) { return of[vectors_of_sum<T> == 1 ? 0 : j / Simd<T>::width % vectors_of_sum<T>]; }
  friend EIGEN_ALWAYS_INLINE RowSum operator+(RowSum a, const RowSum& b) {
    for (Index k = 0; k < vectors_of_sum<T>; ++k) {
      a.of[k] = a.of[k] + b.of[k];
    }
    return a;
  }
  friend EIGEN_ALWAYS_INLINE RowSum operator-(RowSum a, const RowSum& b) {
    for (Index k = 0; k < vectors_of_sum<T>; ++k) {
      a.of[k] = a.of[k] - b.of[k];
    }
    return a;
  }
  /// The sum over the lanes: adds the upper half to the lower half, repeatedly, until one lane is left.
  EIGEN_ALWAYS_INLINE T total() const {
    RowSum joined = *this;
    for (Index half = vectors_of_sum<T> / 2; half > 0; half /= 2) {
      for (Index k = 0; k < half; ++k) {
        joined.of[k] = joined.of[k] + joined.of[k + half];
      }
    }
    return joined.of[0].sum();
  }
};

/// Sums each of `Rows` rows with four independent accumulators: `sum = add(sum, r, j, lanes)` for each vector of row r.
template <class T, std::size_t Rows, class Add>
EIGEN_ALWAYS_INLINE void sum_of_rows(Index channels, T (&to)[Rows], const Add& add) {
  constexpr Index width = Simd<T>::width, vectors = vectors_of_sum<T>, many = 4;
  RowSum<T> sums[Rows][many];
  Index j = 0;
  for (; j + many * vectors * width <= channels; j += many * vectors * width) {
    GATED_UNROLL
    for (Index k = 0; k < many * vectors; ++k) {
      GATED_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) {
        Simd<T>& sum = sums[r][k / vectors].of[k % vectors];
        sum = add(sum, r, j + k * width, width);
      }
    }
  }
  for (; j < channels; j += width) {
    GATED_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      Simd<T>& sum = sums[r][0].at(j);
      sum = add(sum, r, j, channels - j < width ? channels - j : width);
    }
  }
  GATED_UNROLL
  for (std::size_t r = 0; r < Rows; ++r) {
    to[r] = ((sums[r][0] + sums[r][1]) + (sums[r][2] + sums[r][3])).total();
  }
}

/// sum_of_rows() for one row, by `sum = add(sum, j, lanes)`.
template <class T, class Add>
EIGEN_ALWAYS_INLINE T sum_of_row(Index channels, const Add& add) {
  T sum[1];
  sum_of_rows<T>(channels, sum, [&](Simd<T> so_far, std::size_t, Index j, Index lanes) GATED_INLINED {
    return add(so_far, j, lanes);
  });
  return sum[0];
}
