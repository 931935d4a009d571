// No vectors.

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
};

/// Dot products of words of four 8-bit codes: see ops/kernels/int8.inl.
struct Quads {
  static constexpr unsigned rows = 4;
  static constexpr std::int32_t bias = 0;
  using Sums [[gnu::vector_size(4)]] = std::int32_t;
  static EIGEN_ALWAYS_INLINE Sums zero() { return Sums{}; }
  static EIGEN_ALWAYS_INLINE Sums total(const Sums& sums) { return sums; }
  struct Weights {
    std::int32_t codes[4];
  };
  static constexpr Index words = 1;
  static EIGEN_ALWAYS_INLINE Weights load(const std::byte* from) {
    std::int8_t codes[4];
    std::memcpy(codes, from, sizeof(codes));
    return {{codes[0], codes[1], codes[2], codes[3]}};
  }
  static EIGEN_ALWAYS_INLINE Sums add(Sums sums, const Weights& weights, const std::uint32_t* codes) {
    for (int i = 0; i < 4; ++i) {
      sums[0] += weights.codes[i] * static_cast<std::int32_t>(*codes >> 8 * i & 255u);
    }
    return sums;
  }
};
