// SSE2: 16 registers of 128 bits (8 on 32-bit machines).

#if defined(__x86_64__)
inline constexpr unsigned register_count = 16;
#else
inline constexpr unsigned register_count = 8;
#endif
inline constexpr bool fuses_products = false;

template <class T>
struct Register;
template <>
struct Register<float> {
  using Type = __m128;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return _mm_sqrt_ps(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return _mm_min_ps(b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return _mm_max_ps(b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) {
    const Type mask = _mm_cmplt_ps(a, b);
    return _mm_or_ps(_mm_and_ps(mask, yes), _mm_andnot_ps(mask, no));
  }
};
template <>
struct Register<double> {
  using Type = __m128d;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return _mm_sqrt_pd(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return _mm_min_pd(b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return _mm_max_pd(b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) {
    const Type mask = _mm_cmplt_pd(a, b);
    return _mm_or_pd(_mm_and_pd(mask, yes), _mm_andnot_pd(mask, no));
  }
};

/// 32-bit integers.
struct Integers {
  static constexpr unsigned rows = 4;  // rows of the tallest tile
  using Type = __m128i;
  static EIGEN_ALWAYS_INLINE Type plus(Type a, Type b) { return _mm_add_epi32(a, b); }
  static EIGEN_ALWAYS_INLINE Type repeated(std::uint32_t a) { return _mm_set1_epi32(static_cast<int>(a)); }
  static EIGEN_ALWAYS_INLINE Type pair_products(Type a, Type b) { return _mm_madd_epi16(a, b); }
};
#include "gated/ops/kernels/paired_quads.inl"
