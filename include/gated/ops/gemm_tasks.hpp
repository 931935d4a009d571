#pragma once

#include <algorithm>

#include "gated/core/function_ref.hpp"
#include "gated/core/workspace.hpp"
#include "gated/ops/kernel_calls.hpp"

/// @file
/// How a product is divided into tasks and tiles: see ops/gemm.hpp.

namespace gated {

namespace detail::gemm {

/// Rows that one task takes, of `rows`: about a thousand, in blocks of equal size. A panel is packed once per task, which costs
/// about 1/100 of the task's work.
inline Index rows_per_block(Index rows, Index tile) {
  const Index blocks = std::max<Index>((rows + 511) / 1024, 1), size = (rows + blocks - 1) / blocks;
  return std::max<Index>((size + tile - 1) / tile, 1) * tile;
}

/// The rows of the next tile where `rows` are left. More than one tile and less than two are split evenly: a low tile reads as
/// much of the panel as a full one and has less to do meanwhile, so that it waits for memory.
inline Index next_tile_rows(Index rows, Index most) {
  return rows < 2 * most && rows > most ? (rows + 1) / 2 : std::min(rows, most);
}

/// What happens to a finished tile, which has rows of panel_columns and may be overwritten.
template <class T>
using TileFunction = FunctionRef<void(Index row, Index column, Index rows, Index columns, T* tile)>;

/// All threads, or one where there is little to do: 2¹⁸ multiply-adds take some 4 µs, and waking a thread that still spins
/// takes some 1. From four threads on the size is the same, so that many do not sleep over what a few of them would gain by.
template <class T>
Threads threads_for(const Operand<T>& a, const Operand<T>& b, const Threads& available) {
  const double work = static_cast<double>(a.rows) * static_cast<double>(a.columns) * static_cast<double>(b.columns);
  return work < (1 << 18) * std::min(available.count(), 4) ? Threads{1} : available;
}

/// Scratch of a thread in a product of `depth` multiply-adds: a panel and a tile.
template <class T>
Index thread_scratch(Index depth) {
  const ProductKernels<T>& table = kernels<ProductKernels<T>>();
  return table.panel_columns * (std::max<Index>(depth, 1) + std::max(table.tile_rows, table.row_panels));
}

/// With `wanted` ≥ 0 only the columns up to `wanted` + i of row i are asked for. True for a panel that begins beyond those of
/// `row`, and so of all rows before it.
inline bool is_unwanted(Index wanted, Index column, Index row) { return wanted >= 0 && column > wanted + row; }

/// The weight b as prepare() has packed it, or one without data. One that lies row by row elsewhere takes the place of b.
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

/// Another way to compute products: given to Workspace::use().
template <class T>
struct ProductEngine {
  /// Does what detail::gemm::multiply() does, or nothing and returns false.
  bool (*multiply)(const Operand<T>& a, const Operand<T>& b, const detail::gemm::TileFunction<T>& finish,
                   Workspace<T>& workspace, Index wanted);
};

}  // namespace gated
