#pragma once

#include <algorithm>

#include "gated/ops/gemm_tasks.hpp"

/// @file
/// Tiles of a product and their packing: see ops/gemm.hpp.

namespace gated {

namespace detail::gemm {

/// Packs a transposed `a`, whose columns are contiguous, into tiles of tile_rows rows, column by column. Without packing, each
/// step along K would touch another page.
template <class T>
void pack_tiles(const Operand<T>& a, T* packed, const ProductKernels<T>& kernels, const Threads& threads) {
  constexpr Index columns_per_task = 16;
  const Index tile = kernels.tile_rows;
  parallel_for(threads, (a.columns + columns_per_task - 1) / columns_per_task, [&](Index task, Index) {
    const Index first = task * columns_per_task, last = std::min(a.columns, first + columns_per_task);
    for (Index row = 0; row < a.rows; row += tile) {
      kernels.pack_tile(a, row, std::min(tile, a.rows - row), first, last, packed + (row * a.columns + first * tile));
    }
  });
}

/// Some adjacent columns of b, whose rows are `stride` elements apart.
template <class T>
struct Panel {
  const T* data;
  Index stride;
};

/// The state that all tiles of a product share.
template <class T>
struct TileProduct {
  const ProductKernels<T>& kernels;
  Operand<T> a, b;
  const T* tiles;            ///< `a` packed by pack_tiles(), or nullptr
  PackedWeight<T> prepared;  ///< `b` packed by prepare(), or empty
  Index wanted;              ///< see multiply()

  /// The number of columns of the panel that starts at `column`.
  Index columns(Index column) const { return std::min(kernels.panel_columns, b.columns - column); }

  /// The panel that starts at `column`. Prepared floats are returned in place; any other format is packed into `packed`.
  Panel<T> panel(Index column, T* packed) const {
    if (prepared && !prepared.is_quantized()) {
      return {prepared.numbers(column), kernels.panel_columns};
    }
    if (prepared) {
      kernels.unpack_panel(b.rows, prepared.codes(column), packed);
    } else {
      kernels.pack_panel(b, column, columns(column), packed);
    }
    return {packed, kernels.panel_columns};
  }

  /// True if any part of the tile of `rows` rows at (row, column) is wanted.
  bool wants(Index row, Index rows, Index column) const { return !is_unwanted(wanted, column, row + rows - 1); }

  /// Computes the tile of `rows` rows that starts at `row`.
  void multiply(Index row, Index rows, const Panel<T>& panel, T* tile) const {
    const T* const factor = tiles != nullptr ? tiles + row * a.columns : a.at(row, 0);
    const Index column_stride = tiles != nullptr ? kernels.tile_rows : a.column_stride;
    const Index depth = a.depth(row), skipped = a.skipped(row);
    kernels.tiles[rows - 1](depth - skipped, factor + skipped * column_stride, a.row_stride, column_stride,
                            panel.data + skipped * panel.stride, panel.stride, tile);
    if (const Index last_depth = a.depth(row + rows - 1); last_depth > depth) {
      kernels.corner(depth, last_depth, rows, factor, a.row_stride, column_stride, panel.data, panel.stride, tile);
    }
  }
};

}  // namespace detail::gemm

}  // namespace gated
