#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "gated/core/weight_format.hpp"
#include "gated/ops/epilogue.hpp"
#include "gated/ops/fourier_factor.hpp"
#include "gated/ops/kernel_form.hpp"
#include "gated/ops/norm_form.hpp"
#include "gated/ops/operand.hpp"
#include "gated/ops/scoring.hpp"
#include "gated/ops/terms.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/// @file
/// The loops that cost time, over plain memory: once in source, compiled for each form (ops/kernel_form.hpp).
///
/// The files of ops/kernels/ are included here once per form, each time in a namespace of the form's name and with its
/// instructions allowed. GATED_KERNEL(f<T>(…)) calls the chosen one. Templates, lambdas and what is inlined into them are
/// compiled for the form too; what a kernel calls elsewhere is not.

/// Unrolls the loop that follows, whose trip count is a small constant, so that its arrays live in registers.
#if EIGEN_COMP_GNUC || EIGEN_COMP_CLANG
#define GATED_UNROLL _Pragma("GCC unroll 16")
#else
#define GATED_UNROLL
#endif

namespace gated {

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

}  // namespace gated

// GCC 12 warns about its own AVX-512 intrinsics, which start from an undefined register on purpose, and about vectors of 512
// bits as arguments, which are all inlined.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

// In a build without optimisation GCC optimises the kernels nevertheless, which would take a hundred times as long. Clang has
// no such pragma.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC push_options
#if !defined(__OPTIMIZE__)
#pragma GCC optimize("O2")
#endif
#endif

// Registers come first.
// clang-format off

#if GATED_CHOOSES_FORM

namespace gated::sse2 {
#include "gated/ops/kernels/registers_sse2.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::sse2

#if EIGEN_COMP_CLANG
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
namespace gated::avx2 {
#include "gated/ops/kernels/registers_avx2.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::avx2
#if EIGEN_COMP_CLANG
#pragma clang attribute pop
#endif

#if EIGEN_COMP_CLANG
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif
namespace gated::avx512 {
#include "gated/ops/kernels/registers_avx512.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::avx512
#if EIGEN_COMP_CLANG
#pragma clang attribute pop
#endif

#if EIGEN_COMP_CLANG
#pragma clang attribute push(__attribute__((target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif
namespace gated::avx512_bf16 {
#include "gated/ops/kernels/bf16.inl"
}  // namespace gated::avx512_bf16
#if EIGEN_COMP_CLANG
#pragma clang attribute pop
#endif

/// Calls a kernel in the form that was chosen.
#define GATED_KERNEL(...)                                                           \
  (::gated::kernels() == ::gated::KernelForm::avx512 ? ::gated::avx512::__VA_ARGS__ \
   : ::gated::kernels() == ::gated::KernelForm::avx2 ? ::gated::avx2::__VA_ARGS__   \
                                                     : ::gated::sse2::__VA_ARGS__)

#else

namespace gated::GATED_BASELINE {
#if defined(EIGEN_DONT_VECTORIZE)
#include "gated/ops/kernels/registers_scalar.inl"
#elif defined(__AVX512F__)
#include "gated/ops/kernels/registers_avx512.inl"
#elif defined(__AVX2__)
#include "gated/ops/kernels/registers_avx2.inl"
#elif defined(__SSE2__)
#include "gated/ops/kernels/registers_sse2.inl"
#elif defined(__aarch64__)
#include "gated/ops/kernels/registers_neon.inl"
#elif defined(__wasm_simd128__)
#include "gated/ops/kernels/registers_simd128.inl"
#else
#include "gated/ops/kernels/registers_scalar.inl"
#endif
#include "gated/ops/kernels/every.inl"
}  // namespace gated::GATED_BASELINE
#if GATED_HAS_BF16_KERNELS
namespace gated::avx512_bf16 {
#include "gated/ops/kernels/bf16.inl"
}  // namespace gated::avx512_bf16
#endif

#define GATED_KERNEL(...) (::gated::GATED_BASELINE::__VA_ARGS__)

#endif

// clang-format on

#if EIGEN_COMP_GNUC_STRICT
#pragma GCC pop_options
#endif

namespace gated {

/// The kernels of a product in the chosen form.
template <class T>
const ProductKernels<T>& product_kernels() {
  return GATED_KERNEL(product_kernels<T>);
}

/// Those of bf16 numbers: beside AVX-512's, on a machine that multiplies bf16; elsewhere nullptr.
inline const Bf16Kernels* bf16_kernels() {
#if GATED_HAS_BF16_KERNELS
  return detail::machine_multiplies_bf16 && kernels() == KernelForm::avx512 ? &avx512_bf16::product_kernels : nullptr;
#else
  return nullptr;
#endif
}

// For loops that are no kernels, a user's own: vectors of the form that the compiler's flags allow.
using GATED_BASELINE::exp_of_negative;
using GATED_BASELINE::for_each_vector;
using GATED_BASELINE::Gelu;
using GATED_BASELINE::GeluTanh;
using GATED_BASELINE::Identity;
using GATED_BASELINE::Laplace;
using GATED_BASELINE::LaplaceLegacy;
using GATED_BASELINE::normal_distribution;
using GATED_BASELINE::Relu;
using GATED_BASELINE::Relu2;
using GATED_BASELINE::Sigmoid;
using GATED_BASELINE::Silu;
using GATED_BASELINE::Simd;
using GATED_BASELINE::sum_of_row;
using GATED_BASELINE::Tanh;
using GATED_BASELINE::transpose_block;

/// Calls `f` with the type that `activation` names: `with_activation(config.activation, [&](auto act) { … act.value(x) … })`.
template <class F>
decltype(auto) with_activation(Activation activation, F&& f) {
  return GATED_BASELINE::choose_activation(activation, std::forward<F>(f));
}

}  // namespace gated

#if EIGEN_COMP_GNUC_STRICT
#pragma GCC diagnostic pop
#endif
