#pragma once

#include <algorithm>

#include "gated/ops/gemm_slabs.hpp"

/// @file
/// The GEMM behind ops/matmul.hpp, tile by tile; the kernels are in ops/kernels/gemm.inl.
///
/// For a · b, with `a` of M × K and `b` of K × N:
///
///  1. `b` is cut into *panels*, each two vectors wide. A panel is packed into contiguous memory, row by row; if K is at most a
///     few thousand, it fits in L2. Prepared weights are packed already. A panel that only one tile needs is read in place.
///     Quantized weights are decoded during packing or, for a single row of `a`, in registers. For an `a` of many rows, see
///     ops/gemm_slabs.hpp.
///  2. `a` is read in place, `tile_rows` rows at a time. A transposed `a` is packed into tiles first, and an `a` whose rows
///     alias in the cache (see core/matrix.hpp) is copied to spread them. If `a` is a lower triangle, a tile multiplies up to
///     its first row's diagonal element. The remaining corner is multiplied row by row, without reading above the diagonal.
///  3. The *micro-kernel* computes one tile, tile_rows × panel_columns. Its accumulators stay in registers for all K steps. A
///     step loads two vectors of `b`; each row of `a` then needs one broadcast and two multiply-adds. A tile has up to 14 rows
///     with 32 registers, 6 with 16. Tiles of fewer rows have their own kernels. If `b` is row-major, the kernel for a
///     single row of `a` computes several panels at a time, to read long runs of memory.
///  4. The epilogue (bias, activation, gate, residual) moves the finished tile from L1 to its destination. So kernels are
///     compiled once per scalar type and form, not once per epilogue.
///
/// Each output sums its K products in order, in one accumulator: equal inputs give equal bits for any number of rows or
/// threads.

namespace gated {

namespace detail::gemm {

/// A copy of `a` whose rows do not alias in the cache. Rows of scratch matrices never alias; rows of parameters and of callers'
/// matrices may.
template <class T>
Operand<T> spread_rows(const Operand<T>& a, Workspace<T>& workspace, const Threads& threads) {
  MatrixMap<T> spread = workspace.matrix(a.rows, a.columns);
  constexpr Index rows_per_task = 16;
  parallel_for(threads, (a.rows + rows_per_task - 1) / rows_per_task, [&](Index task, Index) {
    for (Index row = task * rows_per_task; row < std::min(a.rows, (task + 1) * rows_per_task); ++row) {
      std::copy_n(a.at(row, 0), a.columns, &spread.coeffRef(row, 0));
    }
  });
  Operand<T> result = spread;
  result.diagonal = a.diagonal;
  result.upper = a.upper;
  return result;
}

/// The tasks of a product. Each multiplies `a` by one panel of `b`, or by several if `a` has a single row, and passes its tiles
/// to `finish`. The arguments of the constructor must outlive it.
template <class T>
class Strips {
 public:
  Strips(const TileProduct<T>& product, const TileFunction<T>& finish, Workspace<T>& workspace, const Threads& threads)
      : product_(product),
        finish_(finish),
        in_place_(product.b.column_stride == 1 && product.a.rows <= product.kernels.tile_rows && !product.prepared),
        single_(in_place_ && product.a.rows == 1),
        by_codes_(product.prepared.is_quantized() && product.a.rows == 1 && product.a.depth(0) == product.b.rows &&
                  product.a.skipped(0) == 0),
        panels_(single_               ? product.kernels.row_panels
                : product.a.rows == 1 ? panels_per_task(product.b.columns / product.kernels.panel_columns, 1, threads)
                                      : 1),
        scratch_size_(thread_scratch<T>(product.b.rows)),
        scratch_(workspace.take(scratch_size_ * threads.count())) {}

  /// The number of tasks.
  Index count() const { return (product_.b.columns + columns_per_task() - 1) / columns_per_task(); }

  void operator()(Index task, Index worker) const {
    const Operand<T>&a = product_.a, &b = product_.b;
    const ProductKernels<T>& table = product_.kernels;
    const Index tile_height = table.tile_rows, panel_columns = table.panel_columns;
    T* const packed = scratch_ + worker * scratch_size_;
    T* const tile = packed + panel_columns * std::max<Index>(b.rows, 1);
    const Index begin = task * columns_per_task(), end = std::min(begin + columns_per_task(), b.columns);
    const bool whole = single_ && end - begin == columns_per_task();
    if (whole) {
      table.row(a.depth(0), a.data, 0, a.column_stride, b.at(0, begin), b.row_stride, tile);
    }
    for (Index column = begin; column < end; column += panel_columns) {
      const Index columns = product_.columns(column);
      if (whole) {
        finish_(0, column, 1, columns, tile + (column - begin));
        continue;
      }
      if (by_codes_) {
        table.row_by_codes(b.rows, a.data, a.column_stride, product_.prepared.codes(column), tile);
        finish_(0, column, 1, columns, tile);
        continue;
      }
      const Panel<T> panel =
          in_place_ && columns == panel_columns ? Panel<T>{b.at(0, column), b.row_stride} : product_.panel(column, packed);
      for (Index row = 0, rows = 0; row < a.rows; row += rows) {
        rows = product_.tiles != nullptr ? std::min(tile_height, a.rows - row) : next_tile_rows(a.rows - row, tile_height);
        if (product_.wants(row, rows, column)) {
          product_.multiply(row, rows, panel, tile);
          finish_(row, column, rows, columns, tile);
        }
      }
    }
  }

 private:
  Index columns_per_task() const { return panels_ * product_.kernels.panel_columns; }

  const TileProduct<T>& product_;
  const TileFunction<T>& finish_;
  const bool in_place_;  // reads panels of b in place, because each is read only once
  const bool single_;    // in place, for a single row of a
  const bool by_codes_;  // decodes quantized weights in registers, for a single row of a
  const Index panels_;   // per task
  const Index scratch_size_;
  T* const scratch_;
};

/// Computes a · b and passes each tile to `finish`. If `wanted` ≥ 0, row i needs only its columns up to `wanted` + i: tiles
/// beyond them are skipped.
template <class T>
void multiply(const Operand<T>& given, const Operand<T>& second, const TileFunction<T>& finish, Workspace<T>& workspace,
              Index wanted = -1) {
  if (const auto* const engine = workspace.product_engine();
      engine != nullptr && engine->multiply(given, second, finish, workspace, wanted)) {
    return;
  }
  const ProductKernels<T>& table = kernels<ProductKernels<T>>();
  const Index tile_height = table.tile_rows, panel_columns = table.panel_columns;
  const auto frame = workspace.frame();
  const Threads threads = threads_for(given, second, workspace.threads());
  Operand<T> b = second;  // prepared_form() may point b at a mapped file
  const PackedWeight<T> prepared = prepared_form(b, workspace);
  TileProduct<T> product{table, given, b, nullptr, prepared, wanted};
  Operand<T>& a = product.a;

  // A Toeplitz matrix is read in place: its rows overlap in memory, and its column stride is -1.
  const bool pack_a = a.row_stride == 1 && a.column_stride > 1 && a.rows >= tile_height && b.columns > panel_columns;
  if (pack_a) {
    T* const tiles = workspace.take((a.rows + tile_height - 1) / tile_height * tile_height * a.columns);
    pack_tiles(a, tiles, table, threads);
    product.tiles = tiles;
  } else if (a.column_stride == 1 && crowds<T>(a.row_stride) && a.rows >= tile_height && b.columns > 3 * panel_columns) {
    a = spread_rows(a, workspace, threads);
  }
  if (a.rows >= slab_rows(threads)) {
    return multiply_slabs(product, finish, workspace, threads);
  }
  const Strips<T> strips(product, finish, workspace, threads);
  parallel_for(threads, strips.count(), strips);
}

/// Upper bound of multiply()'s scratch for a product of `rows` × `depth` and any other factor, in float or bf16: a copy of the
/// first factor, and panels of the second. Tiles in bf16 have up to 32 rows.
template <class T>
Index product_scratch(Index rows, Index depth, const Threads& threads) {
  const Index tile = kernels<ProductKernels<T>>().tile_rows, copied = rows < tile ? rows : (rows + tile - 1) / tile * tile;
  return copied * row_stride<T>(depth) + thread_scratch<T>(depth + 32) * threads.count() +
         (rows >= slab_rows(threads) ? slab_bytes / static_cast<Index>(sizeof(T)) : 0);
}

}  // namespace detail::gemm

}  // namespace gated
