// Products in bf16 with sums in float: AVX512-BF16. See ops/bf16_products.hpp.
//
// Both factors are stored in pairs along K: a word holds the value of an even k in its lower half and the value of k + 1, or 0,
// in its upper half. One instruction multiplies 16 pairs by 16 others and adds both products of each pair to a sum. Words are
// loaded and stored as floats.

using avx512::Simd, avx512::TileRow;

/// Indices for a permutation of 16-bit values: word i holds i + lower in its lower half and i + upper in its upper half.
EIGEN_ALWAYS_INLINE __m512i counting_from(int lower, int upper) {
  const __m512i both = _mm512_setr_epi32(0, 0x10001, 0x20002, 0x30003, 0x40004, 0x50005, 0x60006, 0x70007, 0x80008, 0x90009,
                                         0xa000a, 0xb000b, 0xc000c, 0xd000d, 0xe000e, 0xf000f);
  return _mm512_add_epi32(both, _mm512_set1_epi32(lower | upper << 16));
}

EIGEN_ALWAYS_INLINE Simd<float> words(__m512i bits) { return Simd<float>::of(_mm512_castsi512_ps(bits)); }

/// The values of `first`, then those of `second`, rounded to bf16 (to nearest even).
EIGEN_ALWAYS_INLINE __m512i rounded(Simd<float> first, Simd<float> second) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.v, first.v));
}

/// Pairs the 16 values `even` of row k of b with the values `odd` of row k + 1.
EIGEN_ALWAYS_INLINE Simd<float> pairs_of(Simd<float> even, Simd<float> odd) {
  return words(_mm512_permutexvar_epi16(counting_from(0, 16), rounded(even, odd)));
}

/// Pairs the first `count` ≤ 32 values of a row, padded with zeros to 32.
EIGEN_ALWAYS_INLINE Simd<float> pairs_along(const float* x, Index count) {
  constexpr Index width = Simd<float>::width;
  return words(
      rounded(Simd<float>::load(x, count), count > width ? Simd<float>::load(x + width, count - width) : Simd<float>(0)));
}

/// Repeats a pair 16 times.
EIGEN_ALWAYS_INLINE Simd<float> repeated(float pair) { return Simd<float>::of(_mm512_set1_ps(pair)); }

EIGEN_ALWAYS_INLINE Simd<float> add_products(Simd<float> sums, Simd<float> a, Simd<float> b) {
  return Simd<float>::of(_mm512_dpbf16_ps(sums.v, reinterpret_cast<__m512bh>(a.v), reinterpret_cast<__m512bh>(b.v)));
}

/// Rounds `rows` rows of `a` to bf16, starting at row `first`. Stores each as contiguous pairs; rows are `stride` words apart.
EIGEN_DONT_INLINE inline void pair_rows(const Operand<float>& a, Index first, Index rows, float* to, Index stride) {
  constexpr Index width = Simd<float>::width;
  const auto least = [](Index x, Index y) { return x < y ? x : y; };
  if (a.column_stride == 1) {
    for (Index i = 0; i < rows; ++i) {
      for (Index k = 0; k < a.columns; k += 2 * width) {
        const Index count = least(2 * width, a.columns - k);
        pairs_along(a.at(first + i, k), count).store(to + i * stride + k / 2, (count + 1) / 2);
      }
    }
    return;
  }
  // Reads down the columns, as a transposed matrix is stored, and transposes square blocks of pairs.
  for (Index i = 0; i < rows; i += width, first += width, to += width * stride) {
    const Index valid = least(width, rows - i);
    const auto column = [&](Index k) {
      if (k >= a.columns) {
        return Simd<float>(0);
      }
      if (a.row_stride == 1) [[likely]] {
        return Simd<float>::load(a.at(first, k), valid);
      }
      float gathered[width] = {};
      for (Index j = 0; j < valid; ++j) {
        gathered[j] = *a.at(first + j, k);
      }
      return Simd<float>::load(gathered);
    };
    for (Index k = 0; k < a.columns; k += 2 * width) {
      alignas(64) float block[width * width];
      for (Index j = 0; j < width; ++j) {
        pairs_of(column(k + 2 * j), column(k + 2 * j + 1)).store(block + j * width);
      }
      avx512::transpose_block(block, width, block, width);
      for (Index j = 0; j < valid; ++j) {
        Simd<float>::load(block + j * width).store(to + j * stride + k / 2, least(width, (a.columns - k + 1) / 2));
      }
    }
  }
}

/// Like pack_panel() of ops/kernels/gemm.inl, but stores pairs along K in bf16.
EIGEN_DONT_INLINE inline void pack_panel(const Operand<float>& b, Index first, Index columns, float* panel) {
  constexpr Index width = Simd<float>::width;
  if (b.column_stride == 1) {
    const TileRow<float> nothing{Simd<float>(0), Simd<float>(0)};
    const auto row = [&](Index k) GATED_INLINED { return TileRow<float>::load(b.at(k, first), columns); };
    for (Index k = 0; k < b.rows; k += 2, panel += 2 * width) {
      const auto even = row(k), odd = k + 1 < b.rows ? row(k + 1) : nothing;
      pairs_of(even.left, odd.left).store(panel);
      pairs_of(even.right, odd.right).store(panel + width);
    }
    return;
  }
  // The columns are contiguous: pairs values along each column, then transposes square blocks of words.
  const Index pairs = (b.rows + 1) / 2;
  for (Index half = 0; half < 2; ++half, panel += width) {
    const Index valid = columns - half * width;
    const float* const source = b.at(0, first + half * width);
    for (Index pair = 0; pair < pairs; pair += width) {
      alignas(64) float block[width * width];
      for (Index j = 0; j < width; ++j) {
        const auto words_of_column =
            j < valid ? pairs_along(source + j * b.column_stride + 2 * pair, b.rows - 2 * pair) : Simd<float>(0);
        words_of_column.store(block + j * width);
      }
      avx512::transpose_block(block, width, block, width);
      for (Index i = 0; i < (pairs - pair < width ? pairs - pair : width); ++i) {
        Simd<float>::load(block + i * width).store(panel + (pair + i) * 2 * width);
      }
    }
  }
}

/// tile[i][j] = Σ_k a[i][k] · panel[k][j] for `Rows` rows, over the pairs of K.
template <unsigned Rows>
EIGEN_DONT_INLINE void multiply_tile(Index pairs, const float* a, Index row_stride, const float* panel, float* tile) {
  constexpr auto lanes = Simd<float>::lane_count;
  Simd<float> sums[Rows][2];
  GATED_UNROLL
  for (unsigned i = 0; i < Rows; ++i) {
    sums[i][0] = sums[i][1] = Simd<float>(0);
  }
  for (Index k = 0; k < pairs; ++k, panel += 2 * lanes) {
    Simd<float> left = Simd<float>::load(panel), right = Simd<float>::load(panel + lanes);
    left.hold();
    right.hold();
    GATED_UNROLL
    for (unsigned i = 0; i < Rows; ++i) {
      const Simd<float> x = repeated(a[static_cast<Index>(i) * row_stride + k]);
      sums[i][0] = add_products(sums[i][0], x, left);
      sums[i][1] = add_products(sums[i][1], x, right);
    }
  }
  GATED_UNROLL
  for (unsigned i = 0; i < Rows; ++i) {
    sums[i][0].store(tile + 2 * i * lanes);
    sums[i][1].store(tile + (2 * i + 1) * lanes);
  }
}

/// Finishes a tile that holds the sums of the first `depth` / 2 pairs: adds the rest of each row. Row i ends before column
/// min(`depth` + i, `last_depth`). If a pair straddles that end, its upper half is masked in a and in b.
EIGEN_DONT_INLINE inline void multiply_corner(Index depth, Index last_depth, Index rows, const float* a, Index row_stride,
                                              const float* panel, float* tile) {
  constexpr Index width = Simd<float>::width;
  for (Index i = 0; i < rows; ++i, a += row_stride, tile += 2 * width) {
    const Index end = depth + i < last_depth ? depth + i : last_depth;
    Simd<float> left = Simd<float>::load(tile), right = Simd<float>::load(tile + width);
    for (Index k = depth / 2; 2 * k < end; ++k) {
      const __m512 seen = _mm512_castsi512_ps(_mm512_set1_epi32(2 * k + 1 < end ? -1 : 0xffff));
      const auto visible = [&](Simd<float> pairs) { return Simd<float>::of(_mm512_and_ps(pairs.v, seen)); };
      const Simd<float> x = visible(repeated(a[k]));
      left = add_products(left, x, visible(Simd<float>::load(panel + k * 2 * width)));
      right = add_products(right, x, visible(Simd<float>::load(panel + k * 2 * width + width)));
    }
    left.store(tile);
    right.store(tile + width);
  }
}

inline constexpr Bf16Kernels::Tile tiles[] = {
    {14, &multiply_tile<14>}, {7, &multiply_tile<7>}, {4, &multiply_tile<4>}, {2, &multiply_tile<2>}, {1, &multiply_tile<1>}};

inline constexpr Bf16Kernels product_kernels = {
    .tiles = tiles, .pair_rows = &pair_rows, .pack_panel = &pack_panel, .corner = &multiply_corner};
