// WebAssembly's SIMD128, in the compiler's own vectors: 128 bits. Engines map them to 16 registers at least.

inline constexpr unsigned register_count = 16;
inline constexpr bool fuses_products = false;

template <class T>
struct Register {
  using Type [[gnu::vector_size(16)]] = T;
  static EIGEN_ALWAYS_INLINE Type fused(Type a, Type b, Type c) { return a * b + c; }
  static EIGEN_ALWAYS_INLINE Type root(Type a) {
    for (unsigned i = 0; i < 16 / sizeof(T); ++i) {
      a[i] = std::sqrt(a[i]);
    }
    return a;
  }
  static EIGEN_ALWAYS_INLINE Type smaller(Type a, Type b) { return b < a ? b : a; }
  static EIGEN_ALWAYS_INLINE Type larger(Type a, Type b) { return a < b ? b : a; }
  static EIGEN_ALWAYS_INLINE Type if_less(Type a, Type b, Type yes, Type no) { return a < b ? yes : no; }
  static EIGEN_ALWAYS_INLINE Type from_int8(const std::byte* from) requires std::is_same_v<T, float> {
    using Codes [[gnu::vector_size(4)]] = std::int8_t;
    Codes codes;
    std::memcpy(&codes, from, sizeof(codes));
    return __builtin_convertvector(codes, Type);
  }
};
