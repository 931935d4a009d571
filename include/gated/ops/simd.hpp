#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "gated/core/matrix.hpp"

/// @file
/// A vector register with operators: the only file that touches Eigen's packet functions.
///
/// Formulas are written once, on Simd<T>, and run at the width that the compiler was told to use: AVX-512, AVX2, SSE, NEON, or
/// one scalar at a time. A row's last, partial vector goes through the same instructions as a full one, padded with zeros, so
/// that a number does not depend on where in a matrix it stands.

/// Unrolls the loop that follows, whose trip count is a small constant, so that its arrays live in registers.
#if EIGEN_COMP_GNUC || EIGEN_COMP_CLANG
#define GATED_UNROLL _Pragma("GCC unroll 16")
#else
#define GATED_UNROLL
#endif

// GCC 12 warns about its own AVX-512 intrinsics, which start from an undefined register on purpose, and that a register type
// loses its alignment attribute as a template argument, which is harmless.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace gated {

/// `width` numbers of type `T` in one register.
template <class T>
struct Simd {
  using Packet = typename Eigen::internal::packet_traits<T>::type;
  static constexpr Index width = Eigen::internal::unpacket_traits<Packet>::size;
  static constexpr auto lane_count = static_cast<std::size_t>(width);
  /// True if fma() rounds once.
#if defined(EIGEN_VECTORIZE_FMA) || (defined(EIGEN_VECTORIZE_NEON) && defined(__ARM_FEATURE_FMA))
  static constexpr bool fuses = true;
#else
  static constexpr bool fuses = false;
#endif

  Packet v;

  EIGEN_STRONG_INLINE Simd() = default;
  EIGEN_STRONG_INLINE Simd(T scalar) : v(Eigen::internal::pset1<Packet>(scalar)) {}

  static EIGEN_STRONG_INLINE Simd of(const Packet& packet) {
    Simd result;
    result.v = packet;
    return result;
  }
  static EIGEN_STRONG_INLINE Simd load(const T* from) { return of(Eigen::internal::ploadu<Packet>(from)); }
  EIGEN_STRONG_INLINE void store(T* to) const { Eigen::internal::pstoreu(to, v); }

  /// The first `lanes` numbers from memory, and zeros after them.
  static EIGEN_STRONG_INLINE Simd load(const T* from, Index lanes) {
    return lanes >= width ? load(from) : load_part(from, lanes);
  }
  /// The first `lanes` numbers to memory; nothing after them is touched.
  EIGEN_STRONG_INLINE void store(T* to, Index lanes) const {
    if (lanes >= width) [[likely]] {
      return store(to);
    }
    store_part(to, lanes);
  }
  /// The first `lanes` numbers, and zeros after them.
  EIGEN_STRONG_INLINE Simd keep(Index lanes) const {
    if (lanes >= width) [[likely]] {
      return *this;
    }
    EIGEN_ALIGN_MAX T buffer[lane_count];
    store(buffer);
    return load_part(buffer, lanes);
  }

  friend EIGEN_STRONG_INLINE Simd operator+(Simd a, Simd b) { return of(Eigen::internal::padd(a.v, b.v)); }
  friend EIGEN_STRONG_INLINE Simd operator-(Simd a, Simd b) { return of(Eigen::internal::psub(a.v, b.v)); }
  friend EIGEN_STRONG_INLINE Simd operator*(Simd a, Simd b) { return of(Eigen::internal::pmul(a.v, b.v)); }
  friend EIGEN_STRONG_INLINE Simd operator/(Simd a, Simd b) { return of(Eigen::internal::pdiv(a.v, b.v)); }
  friend EIGEN_STRONG_INLINE Simd operator-(Simd a) { return of(Eigen::internal::pnegate(a.v)); }

  /// Has GCC keep it in a register, where it would rather load it again for each use. Clang does so unasked, and would take the
  /// request as one for memory.
  EIGEN_STRONG_INLINE void hold() {
#if EIGEN_COMP_GNUC_STRICT
    EIGEN_OPTIMIZATION_BARRIER(v);
#endif
  }

  /// a·b + c, rounded once where the machine can.
  friend EIGEN_STRONG_INLINE Simd fma(Simd a, Simd b, Simd c) { return of(Eigen::internal::pmadd(a.v, b.v, c.v)); }
  /// The smaller; NaN where the first argument is NaN.
  friend EIGEN_STRONG_INLINE Simd min(Simd a, Simd b) { return of(Eigen::internal::pmin(a.v, b.v)); }
  /// The larger; NaN where the first argument is NaN.
  friend EIGEN_STRONG_INLINE Simd max(Simd a, Simd b) { return of(Eigen::internal::pmax(a.v, b.v)); }
  /// a < b ? yes : no, lane by lane; `no` where a or b is NaN.
  friend EIGEN_STRONG_INLINE Simd select_less(Simd a, Simd b, Simd yes, Simd no) {
    return of(Eigen::internal::pselect(Eigen::internal::pcmp_lt(a.v, b.v), yes.v, no.v));
  }
  friend EIGEN_STRONG_INLINE Simd abs(Simd a) { return of(Eigen::internal::pabs(a.v)); }
  friend EIGEN_STRONG_INLINE Simd sqrt(Simd a) { return of(Eigen::internal::psqrt(a.v)); }

  /// The magnitude of `a` with the sign of `sign`, be that -0.
  friend EIGEN_STRONG_INLINE Simd copysign(Simd a, Simd sign) {
    return of(Eigen::internal::por(abs(a).v, Eigen::internal::pand(sign.v, Simd(T(-0.0)).v)));
  }
  /// `a` cut to the upper half of its digits, so that its square is exact.
  friend EIGEN_STRONG_INLINE Simd upper_half(Simd a) {
    constexpr int lower = (digits + 1) / 2;
    return of(Eigen::internal::pand(a.v, Simd(Eigen::numext::bit_cast<T>(static_cast<Bits>(~Bits{0} << lower))).v));
  }
  /// The whole number nearest to `a`, for |a| < 2²⁰; NaN stays NaN.
  friend EIGEN_STRONG_INLINE Simd nearest_integer(Simd a) { return (a + Simd(whole)) - Simd(whole); }
  /// 2ⁿ for a whole number n from the exponent of the smallest normal number on, and 0 for the n before that. Must not be
  /// infinite. Anything for NaN.
  friend EIGEN_STRONG_INLINE Simd power_of_two(Simd n) {
    // The last digits of n + 1.5 · 2^(digits - 1) are n; with the bias added they move up to where the exponent is.
    const Simd biased = n + Simd(whole + T(std::numeric_limits<T>::max_exponent - 1));
#if EIGEN_COMP_GNUC || EIGEN_COMP_CLANG
    using Lanes [[gnu::vector_size(sizeof(Packet))]] = Bits;
    return of(Eigen::numext::bit_cast<Packet>(Eigen::numext::bit_cast<Lanes>(biased.v) << (digits - 1)));
#else
    using Lanes = std::array<Bits, lane_count>;
    Lanes lanes = Eigen::numext::bit_cast<Lanes>(biased.v);
    for (Bits& lane : lanes) {
      lane <<= digits - 1;
    }
    return of(Eigen::numext::bit_cast<Packet>(lanes));
#endif
  }

  /// The sum over the lanes, in an order that never changes.
  EIGEN_STRONG_INLINE T sum() const { return Eigen::internal::predux(v); }
  /// The largest lane.
  EIGEN_STRONG_INLINE T largest() const { return Eigen::internal::predux_max(v); }

 private:
  // Functions of their own, so that what calls them where a row ends stays small enough to be inlined.
  static EIGEN_DONT_INLINE Simd load_part(const T* from, Index lanes) {
    EIGEN_ALIGN_MAX T buffer[lane_count] = {};
    std::copy_n(from, lanes, buffer);
    return load(buffer);
  }
  EIGEN_DONT_INLINE void store_part(T* to, Index lanes) const {
    EIGEN_ALIGN_MAX T buffer[lane_count];
    store(buffer);
    std::copy_n(buffer, lanes, to);
  }

  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int digits = std::numeric_limits<T>::digits;
  static constexpr T whole = T(1.5) * static_cast<T>(Bits{1} << (digits - 1));  // what is added to it loses its fraction
};

/// to[j][i] = from[i][j] for a square block of Simd<T>::width rows and columns; the strides count elements.
template <class T>
EIGEN_STRONG_INLINE void transpose_block(const T* from, Index from_stride, T* to, Index to_stride) {
  constexpr Index width = Simd<T>::width;
  Eigen::internal::PacketBlock<typename Simd<T>::Packet, static_cast<int>(width)> block;
  GATED_UNROLL
  for (Index i = 0; i < width; ++i) {
    block.packet[i] = Simd<T>::load(from + i * from_stride).v;
  }
  if constexpr (width > 1) {
    Eigen::internal::ptranspose(block);
  }
  GATED_UNROLL
  for (Index j = 0; j < width; ++j) {
    Simd<T>::of(block.packet[j]).store(to + j * to_stride);
  }
}

/// Calls `f(offset, lanes)` for each vector of a row of `count` numbers; `lanes` is `Simd<T>::width` except at the end.
template <class T, class F>
EIGEN_STRONG_INLINE void for_each_vector(Index count, F&& f) {
  Index i = 0;
  for (; i + Simd<T>::width <= count; i += Simd<T>::width) {
    f(i, Simd<T>::width);
  }
  if (i < count) {
    f(i, count - i);
  }
}

}  // namespace gated

#if EIGEN_COMP_GNUC_STRICT
#pragma GCC diagnostic pop
#endif
