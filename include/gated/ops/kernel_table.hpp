#pragma once

#include <optional>
#include <span>

#include "gated/core/weight_format.hpp"
#include "gated/ops/epilogue.hpp"
#include "gated/ops/fourier_factor.hpp"
#include "gated/ops/norm_form.hpp"
#include "gated/ops/operand.hpp"
#include "gated/ops/scoring.hpp"

/// @file
/// Tables of kernels: `kernels<RowKernels<T>>().normalize_rows(…)` calls a kernel of the chosen form.
///
/// The code in ops/kernels/ fills the tables of each form (instruction set). A program compiles every kernel of each table it
/// uses, so kernels that only some programs need, such as derivatives, have their own tables.

namespace gated {

/// The number of vectors that sum_columns() reads side by side: a few cache lines.
inline constexpr unsigned vectors_together = 8;

/// The backward pass through y = act(z) ⊙ factor:
///
///     ∂z = ∂y ⊙ factor ⊙ act'(z)     ∂factor = ∂y ⊙ act(z)
///
/// Shapes: all matrices have ∂y's shape; dz may be dy.
template <class T>
struct ActivationBackward {
  Activation activation = Activation::identity;
  MatrixView<const T> dy = {}, z = {};
  MatrixView<const T> factor = {};  ///< ones if absent
  MatrixView<T> dz = {};            ///< receives ∂z
  bool adds_to_dz = false;          ///< adds ∂z instead of assigning
  MatrixView<T> to_factor = {};     ///< receives ∂factor, if present
  bool adds_to_factor = false;      ///< adds ∂factor instead of assigning
};

/// The factors of an AdamW step: see train/adamw.hpp.
template <class T>
struct AdamWFactors {
  T decay, beta1, new1, beta2, new2, size, root, eps;
};

/// The kernels of the chosen form, selected by the type of their table.
template <class Table>
const Table& kernels();

/// The kernels of a product, and the shape of its tiles.
template <class T>
struct ProductKernels {
  using Tile = void (*)(Index depth, const T* a, Index row_stride, Index column_stride, const T* panel, Index panel_stride,
                        T* tile);
  Index panel_columns;  ///< columns of a panel and a tile
  Index tile_rows;      ///< largest number of rows in a tile
  Index row_panels;     ///< number of panels per call of `row`
  const Tile* tiles;    ///< kernels for 1, 2, … tile_rows rows
  Tile row;             ///< the kernel for a single row and row_panels panels
  void (*corner)(Index depth, Index last_depth, Index rows, const T* a, Index row_stride, Index column_stride, const T* panel,
                 Index panel_stride, T* tile);
  void (*pack_panel)(const Operand<T>& b, Index first, Index columns, T* panel);
  void (*pack_tile)(const Operand<T>& a, Index row, Index rows, Index first, Index last, T* to);
  void (*unpack_panel)(Index depth, const QuantizedPanel& codes, T* panel);
  void (*row_by_codes)(Index depth, const T* a, Index column_stride, const QuantizedPanel& codes, T* tile);
  void (*finish_tile)(const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, T* tile, T* to,
                      Index to_stride);
};

/// Lanes of a vector in the chosen form: half a panel.
template <class T>
Index vector_width() {
  return kernels<ProductKernels<T>>().panel_columns / 2;
}

/// Loops over rows, which nearly all programs need.
template <class T>
struct RowKernels {
  void (*activate_rows)(Activation activation, Index rows, Index columns, const T* x, Index x_stride, T* y, Index y_stride);
  void (*mean_of_rows)(const T* x, Index stride, Index rows, Index columns, T* y);
  void (*normalize_rows)(const T* from, Index from_stride, Index rows, Index channels, const NormParameters<T>& norm, T* to,
                         Index to_stride, RowMoments<T>* saved);
  void (*rotate_rows)(T* x, Index stride, Index rows, const T* table, Index table_stride, Index pairs, bool interleaved);
};

/// y = term, for each type of term.
template <class T, class A>
struct AssignKernels {
  void (*assign_rows)(const A& term, Index first, Index rows, Index columns, T* y, Index stride, bool adds);
};

/// Column sums of a term.
template <class T, class A>
struct SumKernels {
  void (*sum_columns)(const A& term, Index rows, Index first, Index columns, T* to);
};

/// Assignment and column sums in one pass.
template <class T, class A>
struct AssignAndSumKernels {
  void (*assign_and_sum_columns)(const A& term, Index rows, Index first, Index columns, T* y, Index stride, T* to);
};

/// The largest number of rows in a tile of a depthwise or dynamic convolution.
inline constexpr Index depthwise_tile_rows = 4;

/// Depthwise convolutions.
template <class T>
struct DepthwiseKernels {
  void (*convolve_tile)(Index taps, const T* panel, const T* x, Index tap_stride, Index row_stride, Index rows, Index columns,
                        bool adds, T* tile);
};
/// Dynamic convolutions.
template <class T>
struct DynamicConvolutionKernels {
  void (*convolve_tile)(Index taps, const T* weights, Index weights_stride, const T* x, Index stride, Index rows, Index columns,
                        T* tile);
};
/// Backward passes of dynamic convolutions.
template <class T>
struct DynamicConvolutionDerivatives {
  void (*tap_gradients)(Index taps, const T* dy, const T* x, Index stride, Index columns, T* to);
};

/// Attention weights.
template <class T>
struct AttentionKernels {
  void (*score_tile)(const Scoring<T>& scoring, const std::optional<Activation>& activation, Index row, Index column,
                     Index rows, Index columns, T* tile, T* to, Index to_stride);
  void (*softmax_rows)(T* data, Index stride, Index rows, Index columns, Index first, bool causal, Index reach, const T* keys);
};

/// Softmax gates.
template <class T>
struct SoftmaxGateKernels {
  using Gate = void (*)(Index rows, Index columns, T* z, Index z_stride, const T* x, Index x_stride, const T* residual,
                        Index residual_stride, T* to, Index to_stride);
  Gate softmax_gate_rows, softmax_gate_columns;
};
/// Backward passes of softmax gates.
template <class T>
struct SoftmaxGateDerivatives {
  void (*softmax_columns)(T* data, Index stride, Index rows, Index columns);
  void (*softmax_columns_backward)(const T* weights, Index weights_stride, Index rows, Index columns, T* gradient,
                                   Index gradient_stride);
};

/// Fourier transforms.
template <class T>
struct FourierKernels {
  void (*fourier_pass)(Index radix, T* x, Index groups, Index m, Index count, bool inverse, const FourierFactor<T>* roots,
                       const FourierFactor<T>* turns);
  void (*fourier_load)(const MatrixView<const T>& real, const MatrixView<const T>& imaginary, const T* scales, T* x);
  void (*fourier_store)(const T* x, const T* scales, bool adds, const MatrixView<T>& real, const MatrixView<T>& imaginary);
  void (*fourier_multiply)(const FourierFactor<T>* factors, bool conjugate, Index rows, const T* x, T* to, bool adds);
  void (*fourier_add_product)(const FourierFactor<T>* factors, Index rows, const T* x, T* sum);
};
/// The kernels of Fourier mixing, in addition to FourierKernels.
template <class T>
struct FourierMixingKernels {
  void (*fourier_split)(const T* x, const Index* order, Index n, T* real, Index real_stride, T* imaginary,
                        Index imaginary_stride, Index columns);
  void (*fourier_load_transposed)(const MatrixView<const T>& real, const MatrixView<const T>& imaginary, T* x);
  void (*fourier_finish)(const T* x, const Index* order, bool mirrored, Index first, Index low, Index high,
                         const Epilogue<T>& e, const MatrixView<T>& y);
};
/// Backward passes of FFT products with Toeplitz weights.
template <class T>
struct FourierDerivatives {
  void (*fourier_add_correlation)(const T* a, const T* b, Index rows, T* sum);
  void (*fourier_add_dots)(const MatrixView<const T>& real, const MatrixView<const T>& imaginary, const T* x, T* to);
  void (*fourier_sum_lanes)(const T* x, Index rows, T* to);
};

/// The derivatives of activations, norms and attention weights.
template <class T>
struct DerivativeKernels {
  DerivativeKernel<T> activate_and_save_derivative;
  void (*activation_backward_rows)(const ActivationBackward<T>& b, Index first, Index rows);
  void (*normalize_backward_rows)(const T* x, Index x_stride, const T* dy, Index dy_stride, Index rows, Index channels,
                                  const NormParameters<T>& norm, const RowMoments<T>* moments, T* dots, T* dx, Index dx_stride,
                                  bool adds, T* sums);
  void (*scores_backward_rows)(const Scoring<T>& scoring, const std::optional<Activation>& kernel, Index first, Index rows,
                               Index columns, T* weights, Index weights_stride, T* gradient, Index gradient_stride);
};

/// Classification losses.
template <class T>
struct LossKernels {
  void (*log_sum_exp_of_row)(const T* row, Index count, T* largest, T* rest);
  void (*softmax_difference)(const T* row, Index count, T largest, T rest, T everywhere, Index target, T more, T scale, T* to,
                             bool adds);
};

/// Optimizers.
template <class T>
struct OptimizerKernels {
  void (*adamw_step)(const AdamWFactors<T>& f, Index count, T* p, const T* g, T* m, T* v);
};

/// The kernels of bf16 products, whose factors are stored in pairs along K: see ops/kernels/bf16.inl.
struct Bf16Kernels {
  /// A kernel and its number of rows.
  struct Tile {
    Index rows;
    void (*multiply)(Index pairs, const float* a, Index row_stride, const float* panel, float* tile);
  };
  std::span<const Tile> tiles;  ///< most rows first; the last has one row
  void (*pair_rows)(const Operand<float>& a, Index first, Index rows, float* to, Index stride);
  void (*pack_panel)(const Operand<float>& b, Index first, Index columns, float* panel);
  /// Adds the corner of a lower triangle to a tile. nullptr if triangles stay in float.
  void (*corner)(Index depth, Index last_depth, Index rows, const float* a, Index row_stride, const float* panel, float* tile);
};

/// The quantization of a row, or of a group of its columns: x ≈ scale · (code - zero).
struct RowCode {
  float scale;
  std::int32_t zero;
};

/// The kernels of integer products: see ops/kernels/int8.inl.
struct Int8Kernels {
  /// A kernel and its number of rows. `codes` points at the first row's codes; each further row starts `row_stride` words
  /// later. `rows` has one RowCode per row and group.
  struct Tile {
    Index rows;
    void (*multiply)(Index depth, const std::uint32_t* codes, Index row_stride, const RowCode* rows,
                     const QuantizedPanel& panel, float* tile);
  };
  Index columns;                ///< columns of a panel, as in ProductKernels
  Index words;                  ///< 32-bit words that hold four codes of a row
  std::span<const Tile> tiles;  ///< most rows first; the last has one row
  void (*encode_row)(Index depth, Index group, const float* x, Index stride, Index words, std::uint32_t* codes,
                     RowCode* of_groups);
  void (*encode_panel)(Index depth, const float* panel, float* scales, std::int32_t* sums, std::byte* codes);
};

/// The kernels of integer products: the chosen form's, or kernels for additional instructions of the machine (VNNI, AMX).
template <class T>
const Int8Kernels& int8_kernels();

/// The kernels of bf16 products if the form is AVX-512, the machine has AVX512-BF16 and Arithmetic::fastest is in use;
/// otherwise nullptr.
template <class T>
const Bf16Kernels* bf16_kernels();

}  // namespace gated
