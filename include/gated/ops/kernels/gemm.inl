// Matmul kernels: tiles, corners of triangles, packing. See ops/gemm.hpp.

inline constexpr unsigned tile_rows = (register_count - 4u) / 2u > 2u ? (register_count - 4u) / 2u : 2u;

/// Number of panels per kernel call for a single row of `a` and a row-major b: several, to read adjacent cache lines.
inline constexpr unsigned row_panels = register_count / 4u > 4u ? 4u : register_count / 4u;

/// tile[i][j] = Σ_k a[i][k] · panel[k][j] for `Rows` rows and the columns of `Panels` adjacent panels.
template <class T, unsigned Rows, unsigned Panels = 1>
EIGEN_DONT_INLINE void multiply_tile(Index depth, const T* a, Index row_stride, Index column_stride, const T* panel,
                                     Index panel_stride, T* tile) {
  constexpr auto lanes = Simd<T>::lane_count;
  constexpr unsigned vectors = 2 * Panels;
  Simd<T> sums[Rows][vectors];
  GATED_UNROLL
  for (unsigned i = 0; i < Rows; ++i) {
    GATED_UNROLL
    for (unsigned j = 0; j < vectors; ++j) {
      sums[i][j] = Simd<T>(T{0});
    }
  }
  for (Index k = 0; k < depth; ++k) {
    if constexpr (Rows == 1 && Panels == 1) {
      fetch_ahead<Index{sizeof(Simd<T>)} * 2>(panel);
    }
    Simd<T> b[vectors];
    GATED_UNROLL
    for (unsigned j = 0; j < vectors; ++j) {
      b[j] = Simd<T>::load(panel + j * lanes);
      if constexpr (Rows > 1) {
        b[j].hold();
      }
    }
    GATED_UNROLL
    for (unsigned i = 0; i < Rows; ++i) {
      const Simd<T> x(a[static_cast<Index>(i) * row_stride]);
      GATED_UNROLL
      for (unsigned j = 0; j < vectors; ++j) {
        sums[i][j] = fma(x, b[j], sums[i][j]);
      }
    }
    a += column_stride;
    panel += panel_stride;
  }
  GATED_UNROLL
  for (unsigned i = 0; i < Rows; ++i) {
    GATED_UNROLL
    for (unsigned j = 0; j < vectors; ++j) {
      sums[i][j].store(tile + (i * vectors + j) * lanes);
    }
  }
}

/// multiply_tile() for 1, 2, … tile_rows rows.
template <class T, class Rows = std::make_integer_sequence<unsigned, tile_rows>>
struct TileKernels;
template <class T, unsigned... I>
struct TileKernels<T, std::integer_sequence<unsigned, I...>> {
  static constexpr typename ProductKernels<T>::Tile by_rows[] = {&multiply_tile<T, I + 1>...};
};

/// tile[i][j] += Σ_k a[i][depth + k] · panel[depth + k][j] over k < i: the corner of a lower triangle to the right of
/// column `depth`, where the tile's first row ends. Each row stops at its diagonal.
template <class T>
EIGEN_DONT_INLINE void multiply_corner(Index depth, Index last_depth, Index rows, const T* a, Index row_stride,
                                       Index column_stride, const T* panel, Index panel_stride, T* tile) {
  constexpr Index width = Simd<T>::width;
  a += depth * column_stride;
  panel += depth * panel_stride;
  for (Index i = 1; i < rows; ++i) {
    T* const to = tile + i * panel_columns<T>;
    Simd<T> left = Simd<T>::load(to), right = Simd<T>::load(to + width);
    for (Index k = 0; k < (i < last_depth - depth ? i : last_depth - depth); ++k) {
      const Simd<T> x(a[i * row_stride + k * column_stride]);
      left = fma(x, Simd<T>::load(panel + k * panel_stride), left);
      right = fma(x, Simd<T>::load(panel + k * panel_stride + width), right);
    }
    left.store(to);
    right.store(to + width);
  }
}

/// Packs `columns` ≤ panel_columns columns of b, starting at column `first`; missing columns become zeros.
template <class T>
EIGEN_DONT_INLINE void pack_panel(const Operand<T>& b, Index first, Index columns, T* panel) {
  constexpr Index width = Simd<T>::width;
  if (b.column_stride == 1) {  // row-major, as is the panel
    for (Index k = 0; k < b.rows; ++k, panel += 2 * width) {
      TileRow<T>::load(b.at(k, first), columns).store(panel, 2 * width);
    }
    return;
  }
  // Contiguous columns, as in a transposed weight: transpose square blocks in registers.
  for (Index half = 0; half < 2; ++half, panel += width) {
    const Index rest = columns - half * width, valid = rest < 0 ? 0 : rest < width ? rest : width;
    const T* source = b.at(0, first + half * width);
    Index k = 0;
    if constexpr (width > 1) {
      for (; valid == width && k + width <= b.rows; k += width) {
        transpose_block(source + k, b.column_stride, panel + k * 2 * width, 2 * width);
      }
    }
    for (; k < b.rows; ++k) {
      Simd<T>(T{0}).store(panel + k * 2 * width);
      for (Index j = 0; j < valid; ++j) {
        panel[k * 2 * width + j] = source[j * b.column_stride + k * b.row_stride];
      }
    }
  }
}

/// Packs columns `first` to `last` - 1 of `rows` rows of `a` into a tile, column by column. The columns of `a` are contiguous.
template <class T>
EIGEN_DONT_INLINE void pack_tile(const Operand<T>& a, Index row, Index rows, Index first, Index last, T* to) {
  for (Index k = first; k < last; ++k, to += tile_rows) {
    const T* const from = a.at(row, k);
    if (rows == Index{tile_rows}) [[likely]] {
      std::memcpy(to, from, sizeof(T) * tile_rows);  // a constant size compiles to moves
    } else {
      for (Index i = 0; i < rows; ++i) {
        to[i] = from[i];
      }
    }
  }
}

/// `function` if T is float, otherwise nullptr: only float products read quantized weights.
template <class T, auto function, class Pointer>
constexpr Pointer if_float() {
  if constexpr (std::is_same_v<T, float>) {
    return function;
  } else {
    return nullptr;
  }
}

template <class T>
inline constexpr ProductKernels<T> table<ProductKernels<T>> = {
    .panel_columns = panel_columns<T>,
    .tile_rows = Index{tile_rows},
    .row_panels = Index{row_panels},
    .tiles = TileKernels<T>::by_rows,
    .row = &multiply_tile<T, 1, row_panels>,
    .corner = &multiply_corner<T>,
    .pack_panel = &pack_panel<T>,
    .pack_tile = &pack_tile<T>,
    .unpack_panel = if_float<T, &unpack_panel, decltype(ProductKernels<T>::unpack_panel)>(),
    .row_by_codes = if_float<T, &row_by_codes, decltype(ProductKernels<T>::row_by_codes)>(),
    .finish_tile = &finish_tile<T>};
