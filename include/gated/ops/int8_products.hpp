#pragma once

#include "gated/ops/gemm_tasks.hpp"
#include "gated/ops/row_loops.hpp"

/// @file
/// Products of int8 codes, with exact sums.

namespace gated {

namespace detail::gemm {

/// The largest depth K whose sums fit in 32 bits: 255 · 128 · K < 2³¹. The code -128 may occur in files.
inline constexpr Index deepest_int8 = 65793;

/// The quantized rows of `a`.
struct Int8Rows {
  const std::uint32_t* codes;
  Index stride;  ///< words from one row to the next
  const RowCode* of_groups;
  Index groups;  ///< groups per row

  const std::uint32_t* at(Index row) const { return codes + row * stride; }
  const RowCode* groups_of(Index row) const { return of_groups + row * groups; }
};

/// The quantized panels of b: read in place if prepared in int8, otherwise encoded for this product.
class Int8Panels {
 public:
  Int8Panels(const Int8Kernels& table, Operand<float> b, const PackedWeight<float>& prepared)
      : table_(table), b_(b), prepared_(prepared), width_(table.columns) {}

  bool are_encoded() const { return prepared_.format == WeightFormat::int8 || prepared_.format == WeightFormat::int8_rows; }
  Index count() const { return (b_.columns + width_ - 1) / width_; }
  Index columns(Index panel) const { return std::min(width_, b_.columns - panel * width_); }
  Index group() const { return are_encoded() ? group_size(prepared_.format, b_.rows) : b_.rows; }

  QuantizedPanel operator[](Index panel) const {
    if (are_encoded()) {
      return prepared_.codes(panel * width_);
    }
    const float* const scales = memory_ + panel * size();
    const auto* const sums = reinterpret_cast<const std::int32_t*>(scales + width_);
    return {WeightFormat::int8_rows, b_.rows, scales, sums, reinterpret_cast<const std::byte*>(sums + width_)};
  }

  /// Encodes the panels as int8 in the caller's workspace frame, unless the prepared weight holds int8 codes.
  void encode(Workspace<float>& workspace, const Threads& threads) {
    if (are_encoded()) {
      return;
    }
    constexpr Index slack = QuantizedPanel::read_past / Index{sizeof(float)};
    memory_ = workspace.take(count() * size() + slack);
    const auto frame = workspace.inner_frame();
    float* const scratch = workspace.take(prepared_ ? 0 : width_ * b_.rows * threads.count());
    parallel_for(threads, count(), [&](Index panel, Index worker) {
      const float* numbers = prepared_ ? prepared_.numbers(panel * width_) : nullptr;
      if (numbers == nullptr) {
        float* const packed = scratch + worker * width_ * b_.rows;
        kernels<ProductKernels<float>>().pack_panel(b_, panel * width_, columns(panel), packed);
        numbers = packed;
      }
      float* const scales = memory_ + panel * size();
      auto* const sums = reinterpret_cast<std::int32_t*>(scales + width_);
      table_.encode_panel(b_.rows, numbers, scales, sums, reinterpret_cast<std::byte*>(sums + width_));
    });
  }

 private:
  /// The size of a panel in floats: scales, sums and codes, in whole cache lines.
  Index size() const {
    return static_cast<Index>(whole_cache_lines<float>(static_cast<std::size_t>(2 * width_ + (b_.rows + 3) / 4 * width_)));
  }

  const Int8Kernels& table_;
  Operand<float> b_;
  PackedWeight<float> prepared_;
  Index width_;
  float* memory_ = nullptr;
};

/// Encodes the rows of `a` into the caller's workspace frame.
inline Int8Rows encode_rows(const Int8Kernels& table, const Operand<float>& a, Index group, Workspace<float>& workspace) {
  static_assert(sizeof(RowCode) == 2 * sizeof(float));
  const Index words = (a.columns + 63) / 64 * 16 * table.words, groups = (a.columns + group - 1) / group;
  MatrixMap<float> memory = workspace.matrix(a.rows, words);
  auto* const codes = reinterpret_cast<std::uint32_t*>(memory.data());
  auto* const of_groups = reinterpret_cast<RowCode*>(workspace.take(2 * a.rows * groups));
  const Int8Rows rows{codes, memory.outerStride(), of_groups, groups};
  for_each_row(a.rows, workspace, [&](Index row) {
    table.encode_row(a.columns, group, a.at(row, 0), a.column_stride, words, codes + row * rows.stride,
                     of_groups + row * groups);
  });
  return rows;
}

/// Multiplies rows by panels. A task multiplies a block of rows by a group of panels that fits in L2.
inline void multiply_codes(const Int8Kernels& table, const Operand<float>& a, const Int8Rows& rows, const Int8Panels& panels,
                           const TileFunction<float>& finish, Workspace<float>& workspace, const Threads& threads) {
  constexpr Index l2_share = Index{1} << 18;
  const Index highest = table.tiles.front().rows, tile_size = highest * table.columns, count = panels.count();
  float* const tiles = workspace.take(tile_size * threads.count());
  const Index block_rows = 4 * highest, blocks = (a.rows + block_rows - 1) / block_rows;
  const Index in_cache = std::max<Index>(l2_share / (table.columns * a.columns), 1);
  const Index together = std::min(in_cache, panels_per_task(count, blocks, threads));
  const Index strips = (count + together - 1) / together;
  parallel_for(threads, strips * blocks, [&](Index task, Index worker) {
    float* const tile = tiles + worker * tile_size;
    const Index first_panel = task % strips * together, last_panel = std::min(first_panel + together, count);
    const Index first = task / strips * block_rows, last = std::min(first + block_rows, a.rows);
    for (Index row = first; row < last;) {
      const auto kernel = std::find_if(table.tiles.begin(), table.tiles.end(),
                                       [&](const Int8Kernels::Tile& t) { return t.rows <= last - row; });
      for (Index panel = first_panel; panel < last_panel; ++panel) {
        kernel->multiply(a.columns, rows.at(row), rows.stride, rows.groups_of(row), panels[panel], tile);
        finish(row, panel * table.columns, kernel->rows, panels.columns(panel), tile);
      }
      row += kernel->rows;
    }
  });
}

/// multiply() in integers, by the kernels of `table`. Returns false for products that stay in float: see int8_products().
inline bool multiply_int8(const Int8Kernels& table, const Operand<float>& a, const Operand<float>& second,
                          const TileFunction<float>& finish, Workspace<float>& workspace, Index wanted) {
  if (!second.quantizable || a.columns == 0 || a.columns > deepest_int8 || a.diagonal >= 0 || a.upper >= 0 || wanted >= 0) {
    return false;
  }
  Operand<float> b = second;
  const PackedWeight<float> prepared = prepared_form(b, workspace);
  if (prepared.format == WeightFormat::bf16) {
    return false;
  }
  const auto frame = workspace.frame();
  const Threads threads = threads_for(a, b, workspace.threads());
  Int8Panels panels(table, b, prepared);
  panels.encode(workspace, threads);
  const Int8Rows rows = encode_rows(table, a, panels.group(), workspace);
  multiply_codes(table, a, rows, panels, finish, workspace, threads);
  return true;
}

inline constexpr ProductEngine<float> int8_engine{
    .multiply = [](const Operand<float>& a, const Operand<float>& b, const TileFunction<float>& finish,
                   Workspace<float>& workspace,
                   Index wanted) { return multiply_int8(int8_kernels<float>(), a, b, finish, workspace, wanted); },
    .trains = false,
    .coarse = [] { return true; }};

/// An engine with the kernels of `table`, for tests and measurements. The kernels in use must be those of the same form.
template <const Int8Kernels& table>
inline constexpr ProductEngine<float> int8_engine_of{
    .multiply = [](const Operand<float>& a, const Operand<float>& b, const TileFunction<float>& finish,
                   Workspace<float>& workspace, Index wanted) { return multiply_int8(table, a, b, finish, workspace, wanted); },
    .trains = false,
    .coarse = [] { return true; }};

}  // namespace detail::gemm

/// An engine for products in int8 with dynamic quantization. Each row of x and each row of the weight has its own scale, and
/// sums are exact. So equal x and w give equal integers on every machine, for every batch and any number of threads.
///
///     lo = min(0, min x), hi = max(0, max x), m = 255 / (hi - lo), s = (hi - lo) / 255
///     z = RNE(-lo · m), q = clamp(RNE(x · m) + z, 0, 255)             for each row of x
///     t = max|w| / 127, p = clamp(RNE(w / t), -127, 127)              for each row of w
///     y = Σ (float(Σ q p - z Σ p) · t) · s                            each operation rounded to float, none fused
///
/// Weights in WeightFormat::int8 have a scale per group of 32 columns. Then x has a scale per group too, and the outer sum runs
/// over the groups: closer to float, but slower. In int8_rows, a row is one group.
///
///     const auto prepared = prepare(model, WeightFormat::int8_rows);  // else each product encodes its weight
///     workspace.use(prepared);
///     workspace.use(int8_products());
///
/// The engine quantizes channel projections, patch embeddings, image convolutions, and spatial projections W v that are neither
/// causal nor computed by FFT. For W v, rows of W are quantized like rows of x, and channels of v like rows of w. All other
/// products stay in float, as do products with weights prepared in bf16 and products with K > 65,793. In layers, GELU is
/// coarse(). The following holds for each row of x in int8_rows, and for each group of a row in int8: if its range is below
/// 2⁻¹⁰⁰, it counts as zero; if it holds a NaN or an infinity, or if its range overflows, the row of y is NaN. If t = 0, p = 0.
/// RNE (round to nearest even) needs the default rounding mode. Results below 2⁻¹²⁶, and results for weights below 2⁻¹¹⁹,
/// depend on whether the program flushes subnormals.
///
/// On Linux, if the processor has AMX, the first call asks the system for permission to use it. From then on, signal frames are
/// 8 KiB larger.
/// For float models, and for inference: Training refuses the engine, because the products of a backward pass stay in float.
/// Cost: the products, two passes over x, and scratch for its codes. Weights that are not prepared in int8 are encoded for each
/// product. For few rows, that costs many times the product itself: call prepare().
inline const ProductEngine<float>* int8_products() {
#if GATED_HAS_AMX_KERNELS
  detail::granted_amx();  // asks the system for permission to use AMX
#endif
  return &detail::gemm::int8_engine;
}

}  // namespace gated
