#pragma once

#include "gated/ops/gemm_tasks.hpp"
#include "gated/ops/row_loops.hpp"

/// @file
/// Products of matrices rounded to bf16, with sums in float.
///
/// The kernels read both factors of a · b in pairs along K, their shared dimension. `a` is rounded once, `b` panel by panel;
/// prepared bf16 weights are read in place. Each output sums its pairs in an order that depends only on K, so equal inputs give
/// equal bits for any number of rows or threads; with AMX, other bits than without.

namespace gated {

namespace detail::gemm {

/// The panels of b in bf16, stored in pairs along K.
struct Bf16Panels {
  Operand<float> b;
  PackedWeight<float> prepared;
  const Bf16Kernels& table;
  Index width;  ///< columns of a panel

  bool has_codes() const { return prepared.format == WeightFormat::bf16; }
  bool has_scales() const { return prepared.is_quantized() && !has_codes(); }

  /// The panel that starts at `column`. Bf16 codes are returned in place; any other format is packed into `packed`. Codes with
  /// scales are first decoded into `numbers`.
  const float* panel(Index column, float* packed, float* numbers) const {
    if (has_codes()) {
      return reinterpret_cast<const float*>(prepared.codes(column).codes);
    }
    if (!prepared) {
      table.pack_panel(b, column, std::min(width, b.columns - column), packed);
      return packed;
    }
    if (has_scales()) {
      kernels<ProductKernels<float>>().unpack_panel(b.rows, prepared.codes(column), numbers);
    }
    const float* const whole = has_scales() ? numbers : prepared.numbers(column);
    table.pack_panel(Operand<float>(whole, b.rows, width, width, 1), 0, width, packed);
    return packed;
  }

  /// Multiplies `panel` by the kernel.rows rows of `a` from `row` on; `factors` is `a` as pairs in bf16.
  void multiply(const Operand<float>& a, const MatrixMap<float>& factors, Index row, const Bf16Kernels::Tile& kernel,
                const float* panel, float* tile) const {
    const bool is_lower = a.diagonal >= 0;
    const float* const factor = factors.row(row).data();
    const Index depth = a.depth(row), skipped = a.skipped(row) / 2;
    const Index common = is_lower ? depth / 2 : factors.cols();  // pairs without a part above the diagonal
    kernel.multiply(common - skipped, factor + skipped, factors.outerStride(), panel + skipped * width, tile);
    if (is_lower) {
      table.corner(depth, a.depth(row + kernel.rows - 1), kernel.rows, factor, factors.outerStride(), panel, tile);
    }
  }
};

/// multiply() in bf16. Returns false without bf16 kernels, for an exact `a`, or for a triangular `a` if the kernels have no
/// corner().
/// Cost: one more pass over `a`; scratch: `a` in bf16 and, per thread, a panel of `b`.
inline bool multiply_bf16(const Operand<float>& a, const Operand<float>& second, const TileFunction<float>& finish,
                          Workspace<float>& workspace, Index wanted) {
  const bool is_triangular = a.diagonal >= 0 || a.upper >= 0;
  if (bf16_kernels<float>() == nullptr || a.exact || (is_triangular && bf16_kernels<float>()->corner == nullptr)) {
    return false;
  }
  const Bf16Kernels& table = *bf16_kernels<float>();
  Operand<float> b = second;
  const Index panel_columns = kernels<ProductKernels<float>>().panel_columns, tile_rows = table.tiles.front().rows;
  const Index pairs = (b.rows + 1) / 2;
  const auto frame = workspace.frame();
  const Threads threads = threads_for(a, b, workspace.threads());
  const PackedWeight<float> prepared = prepared_form(b, workspace);
  const Bf16Panels panels{b, prepared, table, panel_columns};
  MatrixMap<float> factors = workspace.matrix(a.rows, pairs);
  for_each_block_of_rows(a.rows, workspace, [&](Index first, Index count) {
    table.pair_rows(a, first, count, factors.row(first).data(), factors.outerStride());
  });
  // Scratch per thread: a packed panel unless b is prepared in bf16, a tile, and a decoded panel if codes have scales.
  const Index packed_size = panels.has_codes() ? 0 : panel_columns * pairs, tile_size = panel_columns * tile_rows;
  const Index scratch_size = packed_size + tile_size + (panels.has_scales() ? panel_columns * b.rows : 0);
  float* const scratch = workspace.take(scratch_size * threads.count());
  const Index block_rows = rows_per_block(a.rows, tile_rows);
  const Index strips = (b.columns + panel_columns - 1) / panel_columns, blocks = (a.rows + block_rows - 1) / block_rows;
  parallel_for(threads, strips * blocks, [&](Index task, Index worker) {
    float* const packed = scratch + worker * scratch_size;
    float* const tile = packed + packed_size;
    const Index column = task % strips * panel_columns, columns = std::min(panel_columns, b.columns - column);
    const Index first = task / strips * block_rows, last = std::min(first + block_rows, a.rows);
    if (is_unwanted(wanted, column, last - 1)) {
      return;
    }
    const float* const panel = panels.panel(column, packed, tile + tile_size);
    for (Index row = first; row < last;) {
      const auto kernel = std::find_if(table.tiles.begin(), table.tiles.end(),
                                       [&](const Bf16Kernels::Tile& t) { return t.rows <= last - row; });
      if (!is_unwanted(wanted, column, row + kernel->rows - 1)) {
        panels.multiply(a, factors, row, *kernel, panel, tile);
        finish(row, column, kernel->rows, columns, tile);
      }
      row += kernel->rows;
    }
  });
  return true;
}

inline constexpr ProductEngine<float> bf16_engine{.multiply = &multiply_bf16,
                                                  .coarse = [] { return bf16_kernels<float>() != nullptr; }};

}  // namespace detail::gemm

/// A matmul engine that rounds both factors to bf16 (to nearest even, subnormals to 0) and sums in float. Its products take a
/// little over half the time of float products, with relative errors near 2⁻⁸. In layers, GELU is coarse(). Causal mixing by a
/// Toeplitz W and the weighted sums of windowed attention stay in float; with AMX, so does all causal mixing. Returns nullptr
/// without AVX512-BF16, in portable arithmetic, or if a form below AVX-512 is selected; all products then stay in float.
///
/// On Linux, if the processor has AMX, the first call asks the system for permission to use it, as int8_products() does.
///
///     const auto prepared = prepare(model, WeightFormat::bf16);  // rounds the weights once
///     workspace.use(prepared);
///     workspace.use(bf16_products());
///
/// For float models only.
inline const ProductEngine<float>* bf16_products() {
  return bf16_kernels<float>() == nullptr ? nullptr : &detail::gemm::bf16_engine;
}

}  // namespace gated
