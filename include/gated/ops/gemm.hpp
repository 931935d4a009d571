#pragma once

#include <algorithm>

#include "gated/ops/gemm_slabs.hpp"

/// @file
/// The engine behind ops/matmul.hpp: a product of two matrices, tile by tile.
///
/// How it works, for a · b with a of M × K and b of K × N:
///
///  1. b is cut into *panels* of `panel_columns` (two vectors) columns. A panel is copied ("packed") into contiguous memory,
///     row of K by row of K, so that the inner loop reads it front to back; up to K of some thousands it fits in the
///     second-level cache. Prepared weights are packed already, and a panel that
///     only one tile needs is read where it lies. Weights in a small format become numbers when their panel is copied, or in
///     registers where there is a single row. Where a has many rows, several panels are packed at a time: see
///     ops/gemm_slabs.hpp.
///  2. a is read where it lies, `tile_rows` rows at a time; the transpose of a matrix is first copied into tiles of that many
///     rows. Rows that crowd (see core/matrix.hpp) are first copied further apart. Of a lower triangle, a tile multiplies what
///     its first row has, and then row by row the corner that its other rows have beyond it: nothing above the diagonal is
///     read.
///  3. The *micro-kernel* computes one tile, tile_rows × panel_columns. Its accumulators fill the vector registers and stay
///     there for all K steps: per step, two loads of b, one broadcast per row of a, and two fused multiply-adds per row. With
///     32 registers that is 14 rows × 2 accumulators, two of b and one broadcast; with 16 registers 6 rows. Lower tiles have
///     kernels of their own, so that a few rows read b once, as fast as memory gives it. A single row takes several panels at a
///     time where b lies row by row, because memory is slow at giving two cache lines of each row.
///  4. The finished tile goes to a small buffer in the first-level cache, and the caller's epilogue (bias, activation, gate,
///     residual) takes it from there to its destination. So kernels are compiled once per scalar type and form, not once per
///     epilogue.
///
/// What reads and writes vectors stands in ops/kernels/gemm.inl; here is what divides the work.
///
/// Every output is the sum of its K products in the order of K, in one accumulator, whatever the number of rows, the position
/// in the matrix or the number of threads: equal inputs give equal bits.

namespace gated {

namespace detail::gemm {

/// A copy of `a` whose rows do not crowd. Scratch matrices never do, but parameters and the caller's own matrices may.
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

/// Computes `product` panel by panel, for a single row several at a time, and hands each tile to `finish`.
template <class T>
void multiply_strips(const TileProduct<T>& product, const TileFunction<T>& finish, Workspace<T>& workspace,
                     const Threads& threads) {
  const Operand<T>&a = product.a, &b = product.b;
  const ProductKernels<T>& table = product.kernels;
  const Index tile_height = table.tile_rows, panel_columns = table.panel_columns;
  const bool in_place = b.column_stride == 1 && a.rows <= tile_height && !product.prepared;  // each panel is used once
  const bool single = in_place && a.rows == 1;
  const bool by_codes = product.prepared.is_quantized() && a.rows == 1 && a.depth(0) == b.rows && a.skipped(0) == 0;
  const Index task_columns = (single ? table.row_panels : 1) * panel_columns;
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

/// Computes a · b and hands each tile to `finish`. With `wanted` ≥ 0 only the columns up to `wanted` + i of row i are asked
/// for: tiles that lie beyond are neither computed nor handed on.
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
  Operand<T> b = second;  // or, of a weight that lies in a file, where it lies
  const PackedWeight<T> prepared = prepared_form(b, workspace);
  TileProduct<T> product{table, given, b, nullptr, prepared, wanted};
  Operand<T>& a = product.a;

  // The rows of a Toeplitz matrix overlap (its columns are one element apart, backwards): it is read where it lies.
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

}  // namespace detail::gemm

}  // namespace gated
