// AVX2 and FMA: 16 registers of 256 bits, fused multiply-add.

inline constexpr unsigned register_count = 16;
inline constexpr bool fuses_products = true;

template <class T>
struct Register;
template <>
struct Register<float> {
  using Type = __m256;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return _mm256_fmadd_ps(a, b, c); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return _mm256_sqrt_ps(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return _mm256_min_ps(b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return _mm256_max_ps(b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) {
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
};
template <>
struct Register<double> {
  using Type = __m256d;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return _mm256_fmadd_pd(a, b, c); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return _mm256_sqrt_pd(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return _mm256_min_pd(b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return _mm256_max_pd(b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) {
    return _mm256_blendv_pd(no, yes, _mm256_cmp_pd(a, b, _CMP_LT_OQ));
  }
};

/// 32-bit integers.
struct Integers {
  static constexpr unsigned rows = 4;  // rows of the tallest tile
  using Type = __m256i;
  static EIGEN_ALWAYS_INLINE Type plus(Type a, Type b) { return _mm256_add_epi32(a, b); }
  static EIGEN_ALWAYS_INLINE Type repeated(std::uint32_t a) { return _mm256_set1_epi32(static_cast<int>(a)); }
  static EIGEN_ALWAYS_INLINE Type pair_products(Type a, Type b) { return _mm256_madd_epi16(a, b); }
};
#include "gated/ops/kernels/paired_quads.inl"
