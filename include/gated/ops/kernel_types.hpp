#pragma once

#include <span>

#include "gated/core/rows.hpp"
#include "gated/core/weight_format.hpp"
#include "gated/ops/activation.hpp"
#include "gated/ops/operand.hpp"

/// @file
/// What kernels take and are, whatever their form.

namespace gated {

/// Vectors side by side that sum_columns() takes at a time, so that memory is read in runs of some cache lines.
inline constexpr unsigned vectors_together = 8;

/// The backward pass through y = act(z) ⊙ factor:
///
///     ∂z = ∂y ⊙ factor ⊙ act'(z)     ∂factor = ∂y ⊙ act(z)
///
/// Shapes: all as ∂y, whose memory dz may be.
template <class T>
struct ActivationBackward {
  Activation activation = Activation::identity;
  Rows<const T> dy = {}, z = {};
  Rows<const T> factor = {};    ///< absent: ones
  Rows<T> dz = {};              ///< receives ∂z …
  bool adds_to_dz = false;      ///< … or has it added
  Rows<T> to_factor = {};       ///< receives ∂factor, if it is there …
  bool adds_to_factor = false;  ///< … or has it added
};

/// What a step of AdamW multiplies with: see train/adamw.hpp.
template <class T>
struct AdamWFactors {
  T kept, beta1, new1, beta2, new2, size, root, eps;
};

/// The kernels of a product in one form, and the shape of its tiles.
template <class T>
struct ProductKernels {
  using Tile = void (*)(Index depth, const T* a, Index row_stride, Index column_stride, const T* panel, Index panel_stride,
                        T* tile);
  Index panel_columns;  ///< of a panel, and of a tile
  Index tile_rows;      ///< of the highest tile
  Index row_panels;     ///< panels that a single row takes at a time
  const Tile* tiles;    ///< for 1, 2, … tile_rows rows
  Tile row;             ///< for a single row and row_panels panels
  void (*corner)(Index depth, Index last_depth, Index rows, const T* a, Index row_stride, Index column_stride, const T* panel,
                 Index panel_stride, T* tile);
  void (*pack_panel)(const Operand<T>& b, Index first, Index columns, T* panel);
  void (*pack_tile)(const Operand<T>& a, Index row, Index rows, Index first, Index last, T* to);
  void (*unpack_panel)(Index depth, const SmallPanel& codes, T* panel);
  void (*row_by_codes)(Index depth, const T* a, Index column_stride, const SmallPanel& codes, T* tile);
};

/// The kernels of a product of bf16 numbers, in pairs along K: see ops/kernels/bf16.inl.
struct Bf16Kernels {
  /// A kernel, and how many rows it takes.
  struct Tile {
    Index rows;
    void (*multiply)(Index pairs, const float* a, Index row_stride, const float* panel, float* tile);
  };
  std::span<const Tile> tiles;  ///< from the highest to that of one row
  void (*pair_row)(Index depth, const float* from, Index stride, float* to);
  void (*pack_panel)(const Operand<float>& b, Index first, Index columns, float* panel);
};

/// The kernels of a product in the chosen form.
template <class T>
const ProductKernels<T>& product_kernels();

/// Those of bf16 numbers, for float: beside AVX-512's, on a machine that multiplies bf16; elsewhere nullptr.
template <class T>
const Bf16Kernels* bf16_kernels();

/// The numbers of a vector in the chosen form: a panel is two vectors wide.
template <class T>
Index vector_width() {
  return product_kernels<T>().panel_columns / 2;
}

}  // namespace gated
