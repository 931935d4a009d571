// WebAssembly's SIMD128: 128-bit vectors, declared as the compiler's vector types. Engines map them to at least 16 registers.

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
};

/// 32-bit integers.
struct Integers {
  static constexpr unsigned rows = 4;  // rows of the tallest tile
  using Type [[gnu::vector_size(16)]] = std::int32_t;
  static EIGEN_ALWAYS_INLINE Type plus(Type a, Type b) { return a + b; }
  static EIGEN_ALWAYS_INLINE Type repeated(std::uint32_t a) { return static_cast<std::int32_t>(a) - Type{}; }
  static EIGEN_ALWAYS_INLINE Type pair_products(Type a, Type b) {
    return reinterpret_cast<Type>(wasm_i32x4_dot_i16x8(reinterpret_cast<v128_t>(a), reinterpret_cast<v128_t>(b)));
  }
};
#include "gated/ops/kernels/paired_quads.inl"
