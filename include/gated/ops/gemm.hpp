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

/// Computes `product` panel by panel (for a single row, several panels at a time) and passes each tile to `finish`.
template <class T>
void multiply_strips(const TileProduct<T>& product, const TileFunction<T>& finish, Workspace<T>& workspace,
                     const Threads& threads) {
  const Operand<T>&a = product.a, &b = product.b;
  const ProductKernels<T>& table = product.kernels;
  const Index tile_height = table.tile_rows, panel_columns = table.panel_columns;
  const bool in_place = b.column_stride == 1 && a.rows <= tile_height && !product.prepared;  // each panel is read only once
  const bool single = in_place && a.rows == 1;
  const bool by_codes = product.prepared.is_quantized() && a.rows == 1 && a.depth(0) == b.rows && a.skipped(0) == 0;
  const Index panels = single ? table.row_panels : a.rows == 1 ? panels_per_task(b.columns / panel_columns, 1, threads) : 1;
  const Index task_columns = panels * panel_columns;
  const Index packed_size = panel_columns * std::max<Index>(b.rows, 1), scratch_size = thread_scratch<T>(b.rows);
  T* const scratch = workspace.take(scratch_size * threads.count());
  parallel_for(threads, (b.columns + task_columns - 1) / task_columns, [&](Index task, Index worker) {
    T* const packed = scratch + worker * scratch_size;
    T* const tile = packed + packed_size;
    const Index begin = task * task_columns, end = std::min(begin + task_columns, b.columns);
    const bool whole = single && end - begin == task_columns;
    if (whole) {
      table.row(a.depth(0), a.data, 0, a.column_stride, b.at(0, begin), b.row_stride, tile);
    }
    for (Index column = begin; column < end; column += panel_columns) {
      const Index columns = product.columns(column);
      if (whole) {
        finish(0, column, 1, columns, tile + (column - begin));
        continue;
      }
      if (by_codes) {
        table.row_by_codes(b.rows, a.data, a.column_stride, product.prepared.codes(column), tile);
        finish(0, column, 1, columns, tile);
        continue;
      }
      const Panel<T> panel =
          in_place && columns == panel_columns ? Panel<T>{b.at(0, column), b.row_stride} : product.panel(column, packed);
      for (Index row = 0, rows = 0; row < a.rows; row += rows) {
        rows = product.tiles != nullptr ? std::min(tile_height, a.rows - row) : next_tile_rows(a.rows - row, tile_height);
        if (product.wants(row, rows, column)) {
          product.multiply(row, rows, panel, tile);
          finish(row, column, rows, columns, tile);
        }
      }
    }
  });
}

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
  multiply_strips(product, finish, workspace, threads);
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
