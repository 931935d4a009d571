#pragma once

#include <algorithm>
#include <cstring>

#include "gated/ops/gemm_tasks.hpp"

/// @file
/// The engine behind ops/matmul.hpp: a product of two matrices, tile by tile.
///
/// How it works, for a · b with a of M × K and b of K × N:
///
///  1. b is cut into *panels* of `panel_columns` (two vectors) columns. A panel is copied ("packed") into contiguous memory,
///     row of K by row of K, so that the inner loop reads it front to back; up to K of some thousands it fits in the
///     second-level cache. What maps its columns is applied on the way. Prepared weights are packed already, and a panel that
///     only one tile needs is read where it lies. Weights in a small format become numbers when their panel is copied, or in
///     registers where there is a single row.
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

/// Copies the transposed matrix `a`, whose columns lie contiguously in memory, into tiles of tile_rows rows, column of K by
/// column of K: otherwise each step along K would touch another page of memory. Work is divided by columns.
template <class T>
void pack_tiles(const Operand<T>& a, T* packed, const ProductKernels<T>& kernels, const Threads& threads) {
  constexpr Index columns_per_task = 64;
  const Index tile = kernels.tile_rows;
  parallel_for(threads, (a.columns + columns_per_task - 1) / columns_per_task, [&](Index task, Index) {
    const Index first = task * columns_per_task, last = std::min(a.columns, first + columns_per_task);
    for (Index row = 0; row < a.rows; row += tile) {
      kernels.pack_tile(a, row, std::min(tile, a.rows - row), first, last, packed + (row * a.columns + first * tile));
    }
  });
}

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

/// Computes a · b and hands each tile to `finish`. Work is divided into blocks of rows × panels. With `wanted` ≥ 0 only the
/// columns up to `wanted` + i of row i are asked for: tiles that lie beyond are neither computed nor handed on.
template <class T>
void multiply(const Operand<T>& given, const Operand<T>& second, const TileFunction<T>& finish, Workspace<T>& workspace,
              Index wanted = -1) {
  if (const auto* const engine = workspace.product_engine();
      engine != nullptr && engine->multiply(given, second, finish, workspace, wanted)) {
    return;
  }
  const ProductKernels<T>& kernels = product_kernels<T>();
  const Index tile_height = kernels.tile_rows, panel_columns = kernels.panel_columns;
  Operand<T> a = given, b = second;
  const auto frame = workspace.frame();
  const Threads threads = threads_for(a, b, workspace.threads());
  const Index packed_size = panel_columns * std::max<Index>(b.rows, 1);
  const Index scratch_size = thread_scratch<T>(b.rows);
  T* const scratch = workspace.take(scratch_size * threads.count());

  // The rows of a Toeplitz matrix overlap (its columns are one element apart, backwards): it is read where it lies.
  const bool pack_a = a.row_stride == 1 && a.column_stride > 1 && a.rows >= tile_height && b.columns > panel_columns;
  T* const tiles = workspace.take(pack_a ? (a.rows + tile_height - 1) / tile_height * tile_height * a.columns : 0);
  if (pack_a) {
    pack_tiles(a, tiles, kernels, threads);
  } else if (a.column_stride == 1 && crowds<T>(a.row_stride) && a.rows >= tile_height && b.columns > 3 * panel_columns) {
    a = spread_rows(a, workspace, threads);
  }
  // A weight that prepare() has packed, or that lies in a file, is read from there, and a panel that would be used once only
  // where it lies.
  const auto prepared = prepared_form(b, workspace);
  const bool in_place = b.column_stride == 1 && a.rows <= tile_height && !prepared && !b.map;

  const Index block_rows = rows_per_block(a.rows, tile_height);
  const auto multiply_panel = [&](Index column, Index columns, Index first, T* packed, T* tile) {
    const T* panel = packed;
    Index panel_stride = panel_columns;
    if (in_place && columns == panel_columns) {
      panel = b.at(0, column);
      panel_stride = b.row_stride;
    } else if (prepared.is_small()) {
      const SmallPanel codes = prepared.codes(column);
      if (a.rows == 1 && a.depth(0) == b.rows && a.skipped(0) == 0) {
        kernels.row_by_codes(b.rows, a.data, a.column_stride, codes, tile);
        return finish(0, column, 1, columns, tile);
      }
      kernels.unpack_panel(b.rows, codes, packed);
    } else if (prepared) {
      panel = prepared.numbers(column);
    } else {
      kernels.pack_panel(b, column, columns, packed);
    }
    const Index last = std::min(first + block_rows, a.rows);
    if (is_unwanted(wanted, column, last - 1)) {
      return;  // nothing here is wanted
    }
    for (Index row = first; row < last;) {
      const Index rows = pack_a ? std::min(tile_height, last - row) : next_tile_rows(last - row, tile_height);
      const auto kernel = kernels.tiles[rows - 1];
      const T* const factor = pack_a ? tiles + row * a.columns : a.at(row, 0);
      const Index column_stride = pack_a ? tile_height : a.column_stride, depth = a.depth(row), skipped = a.skipped(row);
      if (is_unwanted(wanted, column, row + rows - 1)) {
        row += rows;
        continue;
      }
      kernel(depth - skipped, factor + skipped * column_stride, a.row_stride, column_stride, panel + skipped * panel_stride,
             panel_stride, tile);
      if (const Index last_depth = a.depth(row + rows - 1); last_depth > depth) {
        kernels.corner(depth, last_depth, rows, factor, a.row_stride, column_stride, panel, panel_stride, tile);
      }
      finish(row, column, rows, columns, tile);
      row += rows;
    }
  };

  const bool single = in_place && a.rows == 1;
  const Index task_columns = (single ? kernels.row_panels : 1) * panel_columns;
  const Index strips = (b.columns + task_columns - 1) / task_columns;
  const Index blocks = (a.rows + block_rows - 1) / block_rows;
  parallel_for(threads, strips * blocks, [&](Index task, Index worker) {
    T* const packed = scratch + worker * scratch_size;
    T* const tile = packed + packed_size;
    const Index begin = task % strips * task_columns, end = std::min(begin + task_columns, b.columns);
    const bool whole = single && end - begin == task_columns;
    if (whole) {
      kernels.row(a.depth(0), a.data, 0, a.column_stride, b.at(0, begin), b.row_stride, tile);
    }
    for (Index column = begin; column < end; column += panel_columns) {
      const Index columns = std::min(panel_columns, end - column);
      if (whole) {
        finish(0, column, 1, columns, tile + (column - begin));
      } else {
        multiply_panel(column, columns, task / strips * block_rows, packed, tile);
      }
    }
  });
}

}  // namespace detail::gemm

}  // namespace gated
