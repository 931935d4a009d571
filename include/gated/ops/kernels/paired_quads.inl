// Products of int8 codes by instructions that multiply pairs of 16-bit integers.

/// Multiplies words of four codes. Even and odd codes are multiplied separately, so no sum saturates. store_codes() in
/// ops/kernels/int8.inl splits each word of a row's codes into a word of even codes and a word of odd codes.
struct Quads {
  static constexpr unsigned rows = Integers::rows;
  using Sums = typename Integers::Type;
  struct Weights {
    Sums even, odd;
  };
  static constexpr Index words = 2;
  static constexpr std::int32_t bias = 0;

  static EIGEN_ALWAYS_INLINE Sums zero() { return Sums{}; }
  static EIGEN_ALWAYS_INLINE Weights load(const std::byte* from) {
    using Halves [[gnu::vector_size(sizeof(Sums))]] = std::int16_t;
    using Bits [[gnu::vector_size(sizeof(Sums))]] = std::uint16_t;
    Bits both;
    std::memcpy(&both, from, sizeof(both));
    return {reinterpret_cast<Sums>(reinterpret_cast<Halves>(both << 8) >> 8),
            reinterpret_cast<Sums>(reinterpret_cast<Halves>(both) >> 8)};
  }
  static EIGEN_ALWAYS_INLINE Sums add(Sums sums, const Weights& weights, const std::uint32_t* codes) {
    sums = Integers::plus(sums, Integers::pair_products(weights.even, Integers::repeated(codes[0])));
    return Integers::plus(sums, Integers::pair_products(weights.odd, Integers::repeated(codes[1])));
  }
  static EIGEN_ALWAYS_INLINE Sums total(const Sums& sums) { return sums; }
};
