#pragma once

#include "gated/ops/gemm_tasks.hpp"
#include "gated/ops/row_loops.hpp"

/// @file
/// Products of int8 codes, with exact sums.

namespace gated {

namespace detail::gemm {

/// Columns of a beyond which a sum of codes may exceed 32 bits: 255 · 127 · depth < 2³¹.
inline constexpr Index deepest_int8 = 66311;

/// The codes of the rows of a.
struct Int8Rows {
  const std::uint32_t* codes;
  Index stride;  ///< in words
  const RowCode* rows;
  Index groups;  ///< of each row
};

/// The panels of b: as prepare() has packed them, or encoded for one product.
struct Int8Panels {
  PackedWeight<float> prepared;
  float* memory = nullptr;  ///< of those encoded here
  Index depth = 0, width = 0;

  /// The floats that a panel takes: scales, sums, and codes.
  static Index size(Index depth, Index width) { return whole_lines(2 * width + (depth + 3) / 4 * width); }

  void encode(const Int8Kernels& table, const Operand<float>& b, Index panel) const {
    float* const scales = memory + panel * size(depth, width);
    auto* const sums = reinterpret_cast<std::int32_t*>(scales + width);
    const Index column = panel * width;
    table.encode_panel(b, column, std::min(width, b.columns - column), scales, sums,
                       reinterpret_cast<std::byte*>(sums + width));
  }
  QuantizedPanel operator[](Index panel) const {
    if (prepared) {
      return prepared.codes(panel * width);
    }
    const float* const scales = memory + panel * size(depth, width);
    const auto* const sums = reinterpret_cast<const std::int32_t*>(scales + width);
    return {WeightFormat::int8_rows, depth, scales, sums, reinterpret_cast<const std::byte*>(sums + width)};
  }

 private:
  static Index whole_lines(Index floats) {
    return static_cast<Index>(whole_cache_lines<float>(static_cast<std::size_t>(floats)));
  }
};

/// Encodes the rows of a. The memory is the caller's frame's.
inline Int8Rows encode_rows(const Int8Kernels& table, const Operand<float>& a, Index group, Workspace<float>& workspace) {
  const Index words = (a.columns + 63) / 64 * 16 * table.words;
  const MatrixMap<float> memory = workspace.matrix(a.rows, words);
  auto* const codes = reinterpret_cast<std::uint32_t*>(const_cast<float*>(memory.data()));
  static_assert(sizeof(RowCode) == 2 * sizeof(float));
  const Index groups = (a.columns + group - 1) / group;
  auto* const rows = reinterpret_cast<RowCode*>(workspace.take(2 * a.rows * groups));
  for_each_row(a.rows, workspace, [&](Index row) {
    table.encode_row(a.columns, group, a.at(row, 0), a.column_stride, words, codes + row * memory.outerStride(),
                     rows + row * groups);
  });
  return {codes, memory.outerStride(), rows, groups};
}

/// multiply() in integers, if b is quantizable.
inline bool multiply_int8(const Operand<float>& a, const Operand<float>& second, const TileFunction<float>& finish,
                          Workspace<float>& workspace, Index wanted) {
  if (!second.quantizable || a.columns == 0 || a.columns > deepest_int8 || a.diagonal >= 0 || a.upper >= 0 || wanted >= 0) {
    return false;
  }
  const auto frame = workspace.frame();
  const Int8Kernels& table = int8_kernels<float>();
  Operand<float> b = second;
  const Index width = table.columns, count = (b.columns + width - 1) / width;
  Int8Panels panels{.prepared = prepared_form(b, workspace), .depth = b.rows, .width = width};
  if (panels.prepared && panels.prepared.format != WeightFormat::int8 && panels.prepared.format != WeightFormat::int8_rows) {
    return false;
  }
  const Threads threads = threads_for(a, b, workspace.threads());
  if (!panels.prepared) {
    constexpr Index tile_size = 512;  // AMX reads a whole tile at the end of a panel
    panels.memory = workspace.take(count * Int8Panels::size(b.rows, width) + tile_size);
    parallel_for(threads, count, [&](Index panel, Index) { panels.encode(table, b, panel); });
  }
  const Index group = panels.prepared ? group_size(panels.prepared.format, b.rows) : b.rows;
  const Int8Rows rows = encode_rows(table, a, group, workspace);

  // A task takes some rows through some panels, which stay in the second-level cache.
  const Index highest = table.tiles.front().rows, tile_size = highest * width;
  float* const tiles = workspace.take(tile_size * threads.count());
  const Index block_rows = 4 * highest, blocks = (a.rows + block_rows - 1) / block_rows;
  const Index together = std::clamp<Index>((Index{1} << 18) / (width * b.rows), 1, a.rows == 1 ? 4 : 16);
  const Index strips = (count + together - 1) / together;
  parallel_for(threads, strips * blocks, [&](Index task, Index worker) {
    float* const tile = tiles + worker * tile_size;
    const Index first_panel = task % strips * together, last_panel = std::min(first_panel + together, count);
    const Index first = task / strips * block_rows, last = std::min(first + block_rows, a.rows);
    for (Index row = first; row < last;) {
      const auto kernel = std::find_if(table.tiles.begin(), table.tiles.end(),
                                       [&](const Int8Kernels::Tile& t) { return t.rows <= last - row; });
      for (Index panel = first_panel; panel < last_panel; ++panel) {
        kernel->multiply(b.rows, rows.codes + row * rows.stride, rows.stride, rows.rows + row * rows.groups, panels[panel],
                         tile);
        finish(row, panel * width, kernel->rows, std::min(width, b.columns - panel * width), tile);
      }
      row += kernel->rows;
    }
  });
  return true;
}

inline constexpr ProductEngine<float> int8_engine{&multiply_int8};

}  // namespace detail::gemm

/// Products with weights in integers, dynamically quantized: each row of x and each row of the weight has its own scale, and
/// sums are exact. So the integers are the same on every machine, for every batch and any number of threads.
///
///     lo = min(0, min x), hi = max(0, max x), m = 255 / (hi - lo), s = (hi - lo) / 255
///     z = RNE(-lo · m), q = clamp(RNE(x · m) + z, 0, 255)             for each row of x
///     t = max|w| / 127, p = clamp(RNE(w / t), -127, 127)              for each row of w
///     y = Σ (float(Σ q p - z Σ p) · t) · s                            each operation rounded to float, none fused
///
/// With weights in WeightFormat::int8 there are scales for each group of 32 columns, of x too, and the outer sum is over
/// groups: closer to float, and slower. In int8_rows a row is one group.
///
///     const auto prepared = prepare(model, WeightFormat::int8_rows);  // or weights are encoded for each product
///     workspace.use(prepared);
///     workspace.use(int8_products());
///
/// Taken are channel projections, and maps over tokens that are not causal: there x is W, and each channel of a sequence has
/// the place of a row of w. All else stays in float, so do weights that are prepared in float or bf16, and products deeper than
/// 66,311. A row of x has a scale of 0, and counts as zeros, where hi - lo < 2⁻¹⁰⁰; where it has a NaN, an infinity or a range
/// that no float holds, its y is NaN.
///
/// On Linux the first call asks the system for AMX where the processor has it: signal frames grow by 8 KiB for good. A model in
/// double does not compile with it.
/// Cost: besides the products, two passes over x; scratch of its codes, and of those of weights that are not prepared.
inline const ProductEngine<float>* int8_products() {
  int8_kernels<float>();  // asks the system for AMX
  return &detail::gemm::int8_engine;
}

}  // namespace gated
