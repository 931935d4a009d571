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
  static EIGEN_ALWAYS_INLINE Type from_int8(const std::byte* from) {
    int four;
    std::memcpy(&four, from, sizeof(four));
    const __m128i bytes = _mm_cvtsi32_si128(four), pairs = _mm_unpacklo_epi8(bytes, bytes);
    return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(pairs, pairs), 24));
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
