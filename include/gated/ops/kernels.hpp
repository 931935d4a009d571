#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "gated/core/elementary.hpp"
#include "gated/core/rounded.hpp"
#include "gated/ops/kernel_form.hpp"
#include "gated/ops/kernel_table.hpp"
#include "gated/ops/terms.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/// @file
/// The hot loops over raw memory: one source, compiled once per instruction set (ops/kernel_form.hpp).
///
/// The files of ops/kernels/ are included here once per form, in a namespace named after the form and with its instructions
/// enabled. Of the functions that kernels call, templates, lambdas and inlined functions are also compiled for the form; others
/// are not. If a program has portable kernels (ops/arithmetic.hpp), the files that compute in floating point are included once
/// more per form, in a nested namespace `portable`.

/// Unrolls the next loop, whose trip count is a small constant, to keep its arrays in registers.
#if EIGEN_COMP_GNUC || EIGEN_COMP_CLANG
#define GATED_UNROLL _Pragma("GCC unroll 16")
#else
#define GATED_UNROLL
#endif

/// Marks a lambda that returns a vector. GCC 12 may zero the upper half of an AVX2 vector that a function returns (vzeroupper),
/// so no function may return one unless it is inlined.
#if EIGEN_COMP_GNUC || EIGEN_COMP_CLANG
#define GATED_INLINED __attribute__((always_inline))
#else
#define GATED_INLINED
#endif

// GCC 12 warns about its own AVX-512 intrinsics, which start from an undefined register on purpose. It also warns about
// functions with 512-bit vector arguments, although they are all inlined.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

// GCC optimizes the kernels even in unoptimized builds: otherwise they would be a hundred times slower. Clang has no such
// pragma.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC push_options
#if !defined(__OPTIMIZE__)
#pragma GCC optimize("O2")
#endif
#endif

// GATED_BEGIN_FORM enables the given instructions for the functions below it: up to GATED_END_FORM with Clang, up to
// `#pragma GCC pop_options` with GCC.
#define GATED_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if EIGEN_COMP_CLANG
#define GATED_BEGIN_FORM(instructions) \
  GATED_PRAGMA(clang attribute push(__attribute__((target(instructions))), apply_to = function))
#define GATED_END_FORM GATED_PRAGMA(clang attribute pop)
#else
#define GATED_BEGIN_FORM(instructions) GATED_PRAGMA(GCC target(instructions))
#define GATED_END_FORM
#endif

namespace gated {

/// True in a namespace whose kernels use portable arithmetic.
inline constexpr bool is_portable = false;

}  // namespace gated

// The order matters: the registers_*.inl file of a form is included first.
// clang-format off
#if GATED_CHOOSES_FORM

namespace gated::sse2 {
#include "gated/ops/kernels/registers_sse2.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::sse2

GATED_BEGIN_FORM("avx2,fma")
namespace gated::avx2 {
#include "gated/ops/kernels/registers_avx2.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::avx2
GATED_END_FORM

GATED_BEGIN_FORM("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
namespace gated::avx512 {
#include "gated/ops/kernels/registers_avx512.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::avx512
GATED_END_FORM

GATED_BEGIN_FORM("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
namespace gated::avx512_bf16 {
#include "gated/ops/kernels/bf16.inl"
#if GATED_HAS_AMX_KERNELS
#include "gated/ops/kernels/amx_tiles.inl"
#include "gated/ops/kernels/amx_bf16.inl"
#endif
}  // namespace gated::avx512_bf16
GATED_END_FORM

GATED_BEGIN_FORM("avxvnni,avx2,fma")
namespace gated::avx2_vnni {
#include "gated/ops/kernels/registers_avx2_vnni.inl"
#include "gated/ops/kernels/int8.inl"
}  // namespace gated::avx2_vnni
GATED_END_FORM

GATED_BEGIN_FORM("avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
namespace gated::avx512_vnni {
#include "gated/ops/kernels/registers_avx512_vnni.inl"
#include "gated/ops/kernels/int8.inl"
#if GATED_HAS_AMX_KERNELS
#include "gated/ops/kernels/amx_tiles.inl"
#include "gated/ops/kernels/amx_int8.inl"
#endif
}  // namespace gated::avx512_vnni
GATED_END_FORM

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
#if GATED_HAS_AMX_KERNELS
#include "gated/ops/kernels/amx_tiles.inl"
#include "gated/ops/kernels/amx_bf16.inl"
#endif
}  // namespace gated::avx512_bf16
#endif
#if GATED_BASELINE_HAS_VNNI
namespace gated::GATED_INT8_BASELINE {
#if defined(__AVX512VNNI__)
#include "gated/ops/kernels/registers_avx512_vnni.inl"
#else
#include "gated/ops/kernels/registers_avx2_vnni.inl"
#endif
#include "gated/ops/kernels/int8.inl"
#if GATED_HAS_AMX_KERNELS
#include "gated/ops/kernels/amx_tiles.inl"
#include "gated/ops/kernels/amx_int8.inl"
#endif
}  // namespace gated::GATED_INT8_BASELINE
#endif

#endif

// clang-format on
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC pop_options
#endif

namespace gated {

template <class Table>
const Table& kernels() {
#if GATED_CHOOSES_FORM || GATED_HAS_PORTABLE_KERNELS
  const int running = detail::running_kernels();
  [[maybe_unused]] const auto form = static_cast<KernelForm>(running % detail::portable_bit);
#endif
#if GATED_HAS_PORTABLE_KERNELS
  if (running >= detail::portable_bit) {
#if GATED_CHOOSES_FORM
    return form == KernelForm::avx512 ? avx512::portable::table<Table>
           : form == KernelForm::avx2 ? avx2::portable::table<Table>
                                      : sse2::portable::table<Table>;
#else
    return GATED_BASELINE::portable::table<Table>;
#endif
  }
#endif
#if GATED_CHOOSES_FORM
  return form == KernelForm::avx512 ? avx512::table<Table> : form == KernelForm::avx2 ? avx2::table<Table> : sse2::table<Table>;
#else
  return GATED_BASELINE::table<Table>;
#endif
}

template <class T>
const Bf16Kernels* bf16_kernels() {
#if GATED_HAS_BF16_KERNELS
  if (!detail::machine_multiplies_bf16 || kernels() != KernelForm::avx512 || arithmetic() != Arithmetic::fastest) {
    return nullptr;
  }
#if GATED_HAS_AMX_KERNELS
  if (detail::granted_amx().bf16) {
    return &avx512_bf16::amx_product_kernels;
  }
#endif
  return &avx512_bf16::product_kernels;
#else
  return nullptr;
#endif
}

template <class T>
const Int8Kernels& int8_kernels() {
#if GATED_HAS_AMX_KERNELS
  if (kernels() == KernelForm::avx512 && detail::granted_amx().int8) {
    return avx512_vnni::amx_kernels<avx512_vnni::TileRegisters>;
  }
#endif
#if GATED_CHOOSES_FORM
  switch (kernels()) {
    case KernelForm::avx512:
      return detail::machine_has_avx512_vnni ? avx512_vnni::int8::kernels : avx512::int8::kernels;
    case KernelForm::avx2:
      return detail::machine_has_avx_vnni ? avx2_vnni::int8::kernels : avx2::int8::kernels;
    default:
      return sse2::int8::kernels;
  }
#else
  return GATED_INT8_BASELINE::int8::kernels;
#endif
}

// Exported for user code, with vectors of the baseline form.
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

/// Calls `f` with an object for `activation`: `with_activation(config.activation, [&](auto act) { … act.value(x) … })`.
template <class F>
decltype(auto) with_activation(Activation activation, F&& f) {
  return GATED_BASELINE::choose_activation(activation, std::forward<F>(f));
}

}  // namespace gated

#if EIGEN_COMP_GNUC_STRICT
#pragma GCC diagnostic pop
#endif

#if defined(GATED_COMPILED)
#include "gated/compiled/kernels.inl"
#endif
