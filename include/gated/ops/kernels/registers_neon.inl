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
  static EIGEN_ALWAYS_INLINE Type from_int8(const std::byte* from) {
    std::uint32_t four;
    std::memcpy(&four, from, sizeof(four));
    const int16x8_t halves = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(halves)));
  }
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
