// AVX-512's registers, with AVX512-VNNI's dot products of four 8-bit codes.

using avx512::fetch_ahead, avx512::for_each_vector, avx512::Simd;

struct Quads {
  static constexpr unsigned rows = 14;  // rows of the tallest tile
  static constexpr Index words = 1;
  static constexpr std::int32_t bias = 0;
  using Sums = __m512i;
  static EIGEN_ALWAYS_INLINE Sums zero() { return _mm512_setzero_si512(); }
  static EIGEN_ALWAYS_INLINE Sums load(const std::byte* from) { return _mm512_loadu_si512(from); }
  static EIGEN_ALWAYS_INLINE Sums add(Sums sums, Sums weights, const std::uint32_t* codes) {
    return _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(static_cast<int>(*codes)), weights);
  }
  static EIGEN_ALWAYS_INLINE Sums total(const Sums& sums) { return sums; }
};
