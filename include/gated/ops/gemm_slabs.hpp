#pragma once

#include <algorithm>

#include "gated/ops/gemm_tiles.hpp"

/// @file
/// Products with many rows: see ops/gemm.hpp.

namespace gated {

namespace detail::gemm {

/// Products with at least this many rows run slab by slab. With several threads, which synchronize after each slab, the
/// threshold is higher.
inline Index slab_rows(const Threads& threads) { return threads.count() == 1 ? 128 : 1024; }
/// The largest size of a slab in bytes: at most half of a typical L2 cache.
inline constexpr Index slab_bytes = Index{1} << 19;
/// The largest number of panels in a slab.
inline constexpr Index slab_panels = 32;

/// Computes `product` slab by slab and passes each tile to `finish`. A *slab* is a group of panels of `b` that fits in L2. All
/// its panels are packed first; then each task multiplies one tile's rows of `a` by every panel. For each slab, `a` is
/// therefore read once, and each row of the result is written contiguously.
template <class T>
void multiply_slabs(const TileProduct<T>& product, const TileFunction<T>& finish, Workspace<T>& workspace,
                    const Threads& threads) {
  const Index width = product.kernels.panel_columns, height = product.kernels.tile_rows, tile_size = width * height;
  const Index rows_in_all = product.a.rows, columns_in_all = product.b.columns;
  const Index panel_size = width * std::max<Index>(product.b.rows, 1);
  const Index most = std::clamp<Index>(slab_bytes / static_cast<Index>(sizeof(T)) / panel_size, 1,
                                       std::clamp<Index>((columns_in_all + width - 1) / width, 1, slab_panels));
  T* const packed = workspace.take(most * panel_size);
  T* const scratch = workspace.take(tile_size * threads.count());
  Panel<T> panels[slab_panels];
  for (Index first = 0; first < columns_in_all; first += most * width) {
    const Index count = std::min(most, (columns_in_all - first + width - 1) / width);
    parallel_for(threads, count,
                 [&](Index i, Index) { panels[i] = product.panel(first + i * width, packed + i * panel_size); });
    parallel_for(threads, (rows_in_all + height - 1) / height, [&](Index task, Index worker) {
      T* const tile = scratch + worker * tile_size;
      const Index row = task * height, rows = std::min(height, rows_in_all - row);
      for (Index i = 0; i < count && product.wants(row, rows, first + i * width); ++i) {
        product.multiply(row, rows, panels[i], tile);
        finish(row, first + i * width, rows, product.columns(first + i * width), tile);
      }
    });
  }
}

}  // namespace detail::gemm

}  // namespace gated
