// NEON on AArch64: 32 registers of 128 bits, fused multiply-add.

inline constexpr unsigned register_count = 32;
inline constexpr bool fuses_products = true;

template <class T>
struct Register;
template <>
struct Register<float> {
  using Type = float32x4_t;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return vfmaq_f32(c, a, b); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return vsqrtq_f32(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return vbslq_f32(vcltq_f32(b, a), b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return vbslq_f32(vcgtq_f32(b, a), b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) { return vbslq_f32(vcltq_f32(a, b), yes, no); }
};
template <>
struct Register<double> {
  using Type = float64x2_t;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return vfmaq_f64(c, a, b); }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return vsqrtq_f64(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return vbslq_f64(vcltq_f64(b, a), b, a); }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return vbslq_f64(vcgtq_f64(b, a), b, a); }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) { return vbslq_f64(vcltq_f64(a, b), yes, no); }
};

/// Multiplies words of four codes. The codes of a row are stored minus 128, so both factors are signed.
struct Quads {
  static constexpr Index words = 1;
  static constexpr std::int32_t bias = 128;
  using Weights = int8x16_t;
  static EIGEN_ALWAYS_INLINE Weights load(const std::byte* from) {
    return vld1q_s8(reinterpret_cast<const std::int8_t*>(from));
  }
#if defined(__ARM_FEATURE_DOTPROD)
  static constexpr unsigned rows = 12;
  using Sums = int32x4_t;
  static EIGEN_ALWAYS_INLINE Sums zero() { return vdupq_n_s32(0); }
  static EIGEN_ALWAYS_INLINE Sums add(Sums sums, Weights weights, const std::uint32_t* codes) {
    return vdotq_s32(sums, weights, vreinterpretq_s8_u32(vdupq_n_u32(*codes)));
  }
  static EIGEN_ALWAYS_INLINE int32x4_t total(const Sums& sums) { return sums; }
#else
  static constexpr unsigned rows = 6;
  struct Sums {  // each lane sums the products of two of a word's four codes
    int32x4_t low, high;
  };
  static EIGEN_ALWAYS_INLINE Sums zero() { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  static EIGEN_ALWAYS_INLINE Sums add(Sums sums, Weights weights, const std::uint32_t* codes) {
    const int8x16_t repeated = vreinterpretq_s8_u32(vdupq_n_u32(*codes));
    return {vpadalq_s16(sums.low, vmull_s8(vget_low_s8(weights), vget_low_s8(repeated))),
            vpadalq_s16(sums.high, vmull_high_s8(weights, repeated))};
  }
  static EIGEN_ALWAYS_INLINE int32x4_t total(const Sums& sums) { return vpaddq_s32(sums.low, sums.high); }
#endif
};
