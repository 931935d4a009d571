// No vectors: one number at a time.

inline constexpr unsigned register_count = 16;
inline constexpr bool fuses_products = false;

template <class T>
struct Register {
  using Type = T;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return a * b + c; }
  static EIGEN_ALWAYS_INLINE Type root(Type a) { return std::sqrt(a); }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return b < a ? b : a; }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return a < b ? b : a; }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) { return a < b ? yes : no; }
  static EIGEN_ALWAYS_INLINE Type from_int8(const std::byte* from) {
    return static_cast<Type>(static_cast<std::int8_t>(*from));
  }
};
