// AVX-512: 32 registers of 512 bits, fused multiply-add, masks for partial vectors.

inline constexpr unsigned register_count = 32;
inline constexpr bool fuses_products = true;

template <class T>
struct Register;
template <>
struct Register<float> {
  using Type = __m512;
  using Mask = __mmask16;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return _mm512_fmadd_ps(a, b, c); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return _mm512_sqrt_ps(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return _mm512_min_ps(b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return _mm512_max_ps(b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
  }
  static EIGEN_ALWAYS_INLINE Type load_part(const float* from, Index lanes) {
    return _mm512_maskz_loadu_ps(first(lanes), from);
  }
  static EIGEN_ALWAYS_INLINE void store_part(float* to, Type v, Index lanes) { _mm512_mask_storeu_ps(to, first(lanes), v); }
  static EIGEN_ALWAYS_INLINE Type keep(Type v, Index lanes) { return _mm512_maskz_mov_ps(first(lanes), v); }

 private:
  static EIGEN_ALWAYS_INLINE Mask first(Index lanes) { return static_cast<Mask>((1u << lanes) - 1u); }
};
template <>
struct Register<double> {
  using Type = __m512d;
  using Mask = __mmask8;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return _mm512_fmadd_pd(a, b, c); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return _mm512_sqrt_pd(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return _mm512_min_pd(b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return _mm512_max_pd(b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), no, yes);
  }
  static EIGEN_ALWAYS_INLINE Type load_part(const double* from, Index lanes) {
    return _mm512_maskz_loadu_pd(first(lanes), from);
  }
  static EIGEN_ALWAYS_INLINE void store_part(double* to, Type v, Index lanes) { _mm512_mask_storeu_pd(to, first(lanes), v); }
  static EIGEN_ALWAYS_INLINE Type keep(Type v, Index lanes) { return _mm512_maskz_mov_pd(first(lanes), v); }

 private:
  static EIGEN_ALWAYS_INLINE Mask first(Index lanes) { return static_cast<Mask>((1u << lanes) - 1u); }
};

/// 32-bit integers.
struct Integers {
  static constexpr unsigned rows = 12;  // rows of the tallest tile
  using Type = __m512i;
  static EIGEN_ALWAYS_INLINE Type plus(Type a, Type b) { return _mm512_add_epi32(a, b); }
  static EIGEN_ALWAYS_INLINE Type repeated(std::uint32_t a) { return _mm512_set1_epi32(static_cast<int>(a)); }
  static EIGEN_ALWAYS_INLINE Type pair_products(Type a, Type b) { return _mm512_madd_epi16(a, b); }
};
#include "gated/ops/kernels/paired_quads.inl"
