#pragma once

#include <algorithm>

#include "gated/core/function_ref.hpp"
#include "gated/core/workspace.hpp"
#include "gated/ops/kernel_calls.hpp"

/// @file
/// Dividing a product into tasks and tiles: see ops/gemm.hpp.

namespace gated {

namespace detail::gemm {

/// Rows per task: the rows are split into equal blocks of about a thousand. Each task packs its own panel, which is about 1 %
/// of its work.
inline Index rows_per_block(Index rows, Index tile) {
  const Index blocks = std::max<Index>((rows + 511) / 1024, 1), size = (rows + blocks - 1) / blocks;
  return std::max<Index>((size + tile - 1) / tile, 1) * tile;
}

/// The number of rows of the next tile if `rows` are left. The rows of the last two tiles are split evenly: a tile of few rows
/// would be memory-bound, because it reads a whole panel.
inline Index next_tile_rows(Index rows, Index most) {
  return rows < 2 * most && rows > most ? (rows + 1) / 2 : std::min(rows, most);
}

/// The number of adjacent panels that a task multiplies by one block of rows: about four tasks per thread. One thread reads a
/// long run of memory faster than threads that take panels by turns.
inline Index panels_per_task(Index panels, Index blocks, const Threads& threads) {
  return std::clamp<Index>(panels * blocks / (4 * threads.count()), 1, 16);
}

/// Consumes a finished tile with rows of panel_columns values; may overwrite it.
template <class T>
using TileFunction = FunctionRef<void(Index row, Index column, Index rows, Index columns, T* tile)>;

/// One thread if the product is small, otherwise all threads. A product is small below 2¹⁸ multiply-adds per thread, where at
/// most four threads count: 2¹⁸ multiply-adds take about 4 µs, and waking a spinning thread takes about 1 µs. Fewer than four
/// rows take as long as four, because they wait for memory.
template <class T>
Threads threads_for(const Operand<T>& a, const Operand<T>& b, const Threads& available) {
  const double rows = static_cast<double>(std::max<Index>(a.rows, 4));
  const double work = rows * static_cast<double>(a.columns) * static_cast<double>(b.columns);
  return work < (1 << 18) * std::min(available.count(), 4) ? Threads{1} : available;
}

/// Scratch per thread for a product of the given depth K: a panel and a tile.
template <class T>
Index thread_scratch(Index depth) {
  const ProductKernels<T>& table = kernels<ProductKernels<T>>();
  return table.panel_columns * (std::max<Index>(depth, 1) + std::max(table.tile_rows, table.row_panels));
}

/// True if `row` and all earlier rows need no column of the panel that starts at `column`. If `wanted` ≥ 0, row i needs only
/// columns 0 … `wanted` + i.
inline bool is_unwanted(Index wanted, Index column, Index row) { return wanted >= 0 && column > wanted + row; }

/// The weight `b` as packed by prepare(); empty if it is not prepared. If it is mapped from a file, points `b` at the mapped
/// memory and returns an empty PackedWeight.
template <class T>
PackedWeight<T> prepared_form(Operand<T>& b, const Workspace<T>& workspace) {
  if (workspace.prepared() == nullptr || b.row_stride != 1 || b.column_stride != b.rows) {
    return {};
  }
  const PackedWeight<T> found =
      workspace.prepared()->find(b.data, b.columns, b.rows, kernels<ProductKernels<T>>().panel_columns);
  if (found && found.is_by_rows()) {
    b.data = found.numbers();
    return {};
  }
  return found;
}

}  // namespace detail::gemm

/// An alternative implementation of products, for Workspace::use().
template <class T>
struct ProductEngine {
  /// Does the work of detail::gemm::multiply() and returns true, or does nothing and returns false.
  bool (*multiply)(const Operand<T>& a, const Operand<T>& b, const detail::gemm::TileFunction<T>& finish,
                   Workspace<T>& workspace, Index wanted);
  bool trains = true;                       ///< false if backward passes stay in float: Training refuses such an engine
  bool (*coarse)() = [] { return false; };  ///< true if layers compute GELU in its coarse() form
};

}  // namespace gated
