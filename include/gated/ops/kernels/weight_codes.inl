// Float products with quantized weights: see core/weight_format.hpp, and ops/gemm.hpp for panels.

template <class T>
inline constexpr Index panel_columns = 2 * Simd<T>::width;

/// Prefetches `bytes` bytes, eight kilobytes ahead of `from`. For a weight that is read only once, this is faster than the
/// hardware prefetcher alone.
template <Index bytes>
EIGEN_ALWAYS_INLINE void fetch_ahead(const void* from) {
  const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(from) + 8192;
  for (std::uintptr_t i = 0; i < std::uintptr_t{bytes}; i += std::uintptr_t{cache_line_bytes}) {
    __builtin_prefetch(reinterpret_cast<const void*>(start + i));
  }
}

using Numbers = Simd<float>;

/// A pair of bf16 values in each 32-bit lane, for an even row k in the lower half and for row k + 1 in the upper half. A bf16
/// is the upper half of a float.
struct Bf16Pairs {
  using Bits [[gnu::vector_size(4 * Numbers::lane_count)]] = std::uint32_t;
  Bits bits;

  static EIGEN_ALWAYS_INLINE Bf16Pairs load(const std::byte* codes) {
    Bf16Pairs result;
    std::memcpy(&result.bits, codes, sizeof(result.bits));
    return result;
  }
  EIGEN_ALWAYS_INLINE Numbers even() const { return numbers(bits << 16); }
  EIGEN_ALWAYS_INLINE Numbers odd() const { return numbers(bits & 0xffff0000u); }

 private:
  static EIGEN_ALWAYS_INLINE Numbers numbers(const Bits& of) {
    Numbers result(0.0f);
    std::memcpy(&result.v, &of, sizeof(of));
    return result;
  }
};

/// A quad of int8 codes in each 32-bit lane.
struct Int8Quads {
  using Bits [[gnu::vector_size(4 * Numbers::lane_count)]] = std::uint32_t;
  Bits bits;

  static EIGEN_ALWAYS_INLINE Int8Quads load(const std::byte* codes) {
    Int8Quads result;
    std::memcpy(&result.bits, codes, sizeof(result.bits));
    return result;
  }
  /// Code `i` (0 … 3) of each lane's quad, as floats.
  EIGEN_ALWAYS_INLINE Numbers code(Index i) const {
    return Numbers::from_integers(reinterpret_cast<Numbers::Integers>(bits << static_cast<unsigned>(24 - 8 * i)) >> 24);
  }
};

/// Calls `f(k, left, right)` for each k < `depth`, where `left` and `right` are the two decoded vectors in row k of the panel.
template <class F>
EIGEN_ALWAYS_INLINE void for_each_decoded(Index depth, const QuantizedPanel& codes, const F& f) {
  constexpr Index width = Numbers::width;
  if (codes.format == WeightFormat::bf16) {
    const std::byte* code = codes.codes;
    for (Index k = 0; k < depth; k += 2, code += 8 * width) {
      fetch_ahead<8 * width>(code);
      const Bf16Pairs left = Bf16Pairs::load(code), right = Bf16Pairs::load(code + 4 * width);
      f(k, left.even(), right.even());
      if (k + 1 < depth) {
        f(k + 1, left.odd(), right.odd());
      }
    }
    return;
  }
  const std::byte* code = codes.codes;
  const float* scale = codes.scales;
  for (Index first = 0; first < depth; first += codes.group, scale += 2 * width) {
    const Numbers left = Numbers::load(scale), right = Numbers::load(scale + width);
    const Index last = depth - first < codes.group ? depth : first + codes.group;
    for (Index k = first; k < last; k += 4, code += 8 * width) {
      fetch_ahead<8 * width>(code);
      const Int8Quads left_codes = Int8Quads::load(code), right_codes = Int8Quads::load(code + 4 * width);
      const Index count = last - k < 4 ? last - k : 4;
      if (count == 4) [[likely]] {
        GATED_UNROLL
        for (Index i = 0; i < 4; ++i) {
          f(k + i, left * left_codes.code(i), right * right_codes.code(i));
        }
      } else {
        for (Index i = 0; i < count; ++i) {
          f(k + i, left * left_codes.code(i), right * right_codes.code(i));
        }
      }
    }
  }
}

/// Decodes a panel to the layout of pack_panel().
EIGEN_DONT_INLINE inline void unpack_panel(Index depth, const QuantizedPanel& codes, float* panel) {
  constexpr Index width = Numbers::width;
  for_each_decoded(depth, codes, [panel](Index k, Numbers left, Numbers right) {
    left.store(panel + 2 * width * k);
    right.store(panel + 2 * width * k + width);
  });
}

/// multiply_tile() for one row of `a` and a quantized panel; bit-equal to decoding the panel first.
EIGEN_DONT_INLINE inline void row_by_codes(Index depth, const float* a, Index column_stride, const QuantizedPanel& codes,
                                           float* tile) {
  Numbers left_sum(0.0f), right_sum(0.0f);
  for_each_decoded(depth, codes, [&](Index k, Numbers left, Numbers right) {
    const Numbers x(a[k * column_stride]);
    left_sum = fma(x, left, left_sum);
    right_sum = fma(x, right, right_sum);
  });
  left_sum.store(tile);
  right_sum.store(tile + Numbers::width);
}
