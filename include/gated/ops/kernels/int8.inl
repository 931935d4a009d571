// Integer products: int8 codes with exact sums in 32 bits. See ops/int8_products.hpp for the arithmetic.
//
// A word holds four codes along K: unsigned for a row of `a`, signed for a column of a panel. `Quads` in each
// registers_*.inl multiplies words with the instructions of that file's instruction set.

namespace int8 {

using Numbers = Simd<float>;
using Integers = Numbers::Integers;

/// Ranges below this count as 0, so results do not depend on whether subnormals are flushed.
inline constexpr float smallest_range = 0x1p-100f;

EIGEN_ALWAYS_INLINE Integers clamped(Integers x, std::int32_t low, std::int32_t high) {
  const Integers lowest = low - Integers{}, highest = high - Integers{};
  x = x < lowest ? lowest : x;
  return x < highest ? x : highest;
}

/// Stores some of a row's codes, starting at column k, four to a word. Codes are 0 to 255, or -128 to 127
/// if Quads::bias is 128.
EIGEN_ALWAYS_INLINE void store_codes(const Integers& codes, Index k, std::uint32_t* to) {
  using Bytes [[gnu::vector_size(Numbers::lane_count)]] = std::uint8_t;
  std::uint8_t bytes[Numbers::lane_count];
  if constexpr (Numbers::lane_count == 1) {
    bytes[0] = static_cast<std::uint8_t>(codes[0]);
  } else {
    const Bytes narrow = __builtin_convertvector(codes, Bytes);
    std::memcpy(bytes, &narrow, sizeof(bytes));
  }
  if constexpr (Quads::words == 1) {
    std::memcpy(reinterpret_cast<std::byte*>(to) + k, bytes, sizeof(bytes));
  } else {
    for (Index i = 0; i < Numbers::width; i += 4) {
      std::uint32_t word;
      std::memcpy(&word, bytes + i, sizeof(word));
      std::uint32_t* const pair = to + (k + i) / 2;
      pair[0] = word & 0x00ff00ffu;
      pair[1] = word >> 8 & 0x00ff00ffu;
    }
  }
}

/// Encodes `depth` values of x that are `stride` apart, and returns their quantization.
EIGEN_ALWAYS_INLINE RowCode encode_group(Index depth, const float* x, Index stride, std::uint32_t* codes) {
  const auto read = [&](Index k, Index lanes) GATED_INLINED {
    if (stride == 1) [[likely]] {
      return Numbers::load(x + k, lanes);
    }
    float gathered[Numbers::lane_count] = {};
    for (Index i = 0; i < lanes; ++i) {
      gathered[i] = x[(k + i) * stride];
    }
    return Numbers::load(gathered);
  };
  Numbers low(0.0f), high(0.0f), not_finite(0.0f);  // not_finite becomes NaN if a value is not finite
  for_each_vector<float>(depth, [&](Index k, Index lanes) {
    const Numbers v = read(k, lanes);
    low = min(low, v);
    high = max(high, v);
    not_finite = not_finite + (v - v);
  });
  const float least = -(-low).largest(), range = gated::rounded(high.largest() - least);
  const bool is_zero = range < smallest_range;
  const Numbers factor(is_zero ? 0.0f : gated::rounded(255.0f / range));
  const Integers zero = clamped(to_integers(Numbers(-least) * factor), 0, 255);
  for_each_vector<float>(depth, [&](Index k, Index lanes) {
    store_codes(clamped(to_integers(read(k, lanes) * factor) + zero, 0, 255) - Quads::bias, k, codes);
  });
  return {(is_zero ? 0.0f : gated::rounded(range / 255.0f)) + not_finite.sum(), zero[0] - Quads::bias};
}

/// Encodes `depth` values that are `stride` apart, group by group. If Quads::words is 1, pads the codes to `words` words.
EIGEN_DONT_INLINE inline void encode_row(Index depth, Index group, const float* x, Index stride, Index words,
                                         std::uint32_t* codes, RowCode* of_groups) {
  for (Index first = 0; first < depth; first += group, ++of_groups) {
    const Index rest = depth - first;
    *of_groups = encode_group(rest < group ? rest : group, x + first * stride, stride, codes + first / 4 * Quads::words);
  }
  if constexpr (Quads::words == 1) {
    std::memset(reinterpret_cast<std::byte*>(codes) + depth, 0, static_cast<std::size_t>(4 * words - depth));
  }
}

/// Encodes a float panel packed by pack_panel(), one column per lane, as a QuantizedPanel in int8_rows.
EIGEN_DONT_INLINE inline void encode_panel(Index depth, const float* panel, float* scales, std::int32_t* sums,
                                           std::byte* codes) {
  constexpr Index width = Numbers::width;
  const Numbers zero(0.0f);
  for (Index j = 0; j < 2 * width; j += width) {
    const auto read = [&](Index k) GATED_INLINED { return Numbers::load(panel + 2 * width * k + j); };
    Numbers largest = zero, not_finite = zero;
    for (Index k = 0; k < depth; ++k) {
      largest = max(largest, abs(read(k)));
      not_finite = not_finite + (read(k) - read(k));
    }
    const Numbers scale = (largest / Numbers(127.0f)).rounded() + not_finite;
    scale.store(scales + j);
    Integers sum{};
    for (Index k = 0; k < depth; k += 4) {
      Integers word{};
      for (Index i = 0; i < 4 && k + i < depth; ++i) {
        const Integers code = clamped(to_integers(select_less(zero, scale, read(k + i) / scale, zero)), -127, 127);
        sum += code;
        word |= (code & 255) << static_cast<int>(8 * i);
      }
      std::memcpy(codes + 2 * width * k + 4 * j, &word, sizeof(word));
    }
    std::memcpy(sums + j, &sum, sizeof(sum));
  }
}

/// to[i][j] = Σ a[i][k] · panel[k][j] for `Rows` rows, over `words` words along K.
template <unsigned Rows>
struct SumsInRegisters {
  EIGEN_DONT_INLINE void operator()(Index words, const std::uint32_t* a, Index row_stride, const std::byte* panel,
                                    std::int32_t* to) const {
    constexpr auto lanes = Numbers::lane_count;
    typename Quads::Sums sums[Rows][2];
    GATED_UNROLL
    for (unsigned i = 0; i < Rows; ++i) {
      sums[i][0] = sums[i][1] = Quads::zero();
    }
    for (Index k = 0; k < words; ++k, a += Quads::words, panel += 8 * lanes) {
      if constexpr (Rows == 1) {
        fetch_ahead<8 * Numbers::width>(panel);
      }
      const auto left = Quads::load(panel), right = Quads::load(panel + 4 * lanes);
      GATED_UNROLL
      for (unsigned i = 0; i < Rows; ++i) {
        const std::uint32_t* const word = a + static_cast<Index>(i) * row_stride;
        sums[i][0] = Quads::add(sums[i][0], left, word);
        sums[i][1] = Quads::add(sums[i][1], right, word);
      }
    }
    GATED_UNROLL
    for (unsigned i = 0; i < Rows; ++i) {
      const auto left = Quads::total(sums[i][0]), right = Quads::total(sums[i][1]);
      std::memcpy(to + 2 * i * lanes, &left, sizeof(left));
      std::memcpy(to + (2 * i + 1) * lanes, &right, sizeof(right));
    }
  }
};

/// tile[i][j] = (sums[i][j] - zero_i · Σ_k panel[k][j]) · scale_j · scale_i, or += if `adds`.
EIGEN_DONT_INLINE inline void scale_tile(Index rows, const RowCode* of_rows, Index stride, const std::int32_t* sums,
                                         const float* scales, const std::int32_t* column_sums, bool adds, float* tile) {
  constexpr Index width = Numbers::width;
  const auto load = [](const std::int32_t* from) GATED_INLINED {
    Integers result;
    std::memcpy(&result, from, sizeof(result));
    return result;
  };
  for (Index j = 0; j < 2 * width; j += width) {
    const Integers column_sum = load(column_sums + j);
    const Numbers scale = Numbers::load(scales + j);
    for (Index i = 0; i < rows; ++i) {
      float* const to = tile + 2 * width * i + j;
      const RowCode& row = of_rows[i * stride];
      const Numbers sum = Numbers::from_integers(load(sums + 2 * width * i + j) - row.zero * column_sum);
      const Numbers y = (sum.rounded() * scale).rounded() * Numbers(row.scale);
      (adds ? Numbers::load(to) + y.rounded() : y).store(to);
    }
  }
}

/// tile[i][j] = Σ_groups (Σ_k a[i][k] · panel[k][j] - zero_i · Σ_k panel[k][j]) · scale_j · scale_i. The sum in parentheses is
/// computed in integers, by a `Sums`.
template <unsigned Rows, class Sums = SumsInRegisters<Rows>>
void multiply_tile(Index depth, const std::uint32_t* a, Index row_stride, const RowCode* rows, const QuantizedPanel& panel,
                   float* tile) {
  constexpr Index width = 2 * Numbers::width;
  alignas(64) std::int32_t sums[Rows * 2 * Numbers::lane_count];
  const Index groups = (depth + panel.group - 1) / panel.group;
  Sums sum;
  for (Index first = 0, at = 0; first < depth; first += panel.group, at += width, ++rows) {
    const Index rest = depth - first, count = rest < panel.group ? rest : panel.group;
    sum((count + 3) / 4, a + first / 4 * Quads::words, row_stride, panel.codes + first * width, sums);
    scale_tile(Rows, rows, groups, sums, panel.scales + at, panel.sums + at, first > 0, tile);
  }
}

inline constexpr Int8Kernels::Tile tiles[] = {{Quads::rows, &multiply_tile<Quads::rows>},
                                              {Quads::rows / 2, &multiply_tile<Quads::rows / 2>},
                                              {2, &multiply_tile<2>},
                                              {1, &multiply_tile<1>}};

inline constexpr Int8Kernels kernels = {.columns = 2 * Numbers::width,
                                        .words = Quads::words,
                                        .tiles = tiles,
                                        .encode_row = &encode_row,
                                        .encode_panel = &encode_panel};

}  // namespace int8
