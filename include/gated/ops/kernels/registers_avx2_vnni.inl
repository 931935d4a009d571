// AVX2's registers, with AVX-VNNI's dot products of four 8-bit codes.

using avx2::fetch_ahead, avx2::for_each_vector, avx2::Simd;

struct Quads {
  static constexpr unsigned rows = 6;  // rows of the tallest tile
  static constexpr Index words = 1;
  static constexpr std::int32_t bias = 0;
  using Sums = __m256i;
  static EIGEN_ALWAYS_INLINE Sums zero() { return _mm256_setzero_si256(); }
  static EIGEN_ALWAYS_INLINE Sums load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static EIGEN_ALWAYS_INLINE Sums add(Sums sums, Sums weights, const std::uint32_t* codes) {
    return _mm256_dpbusd_avx_epi32(sums, _mm256_set1_epi32(static_cast<int>(*codes)), weights);
  }
  static EIGEN_ALWAYS_INLINE Sums total(const Sums& sums) { return sums; }
};
