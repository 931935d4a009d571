#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <type_traits>
#include <utility>

#include "gated/ops/epilogue.hpp"
#include "gated/ops/fourier_factor.hpp"
#include "gated/ops/kernel_form.hpp"
#include "gated/ops/kernel_types.hpp"
#include "gated/ops/norm_form.hpp"
#include "gated/ops/operand.hpp"
#include "gated/ops/scoring.hpp"
#include "gated/ops/terms.hpp"

#if defined(GATED_COMPILED)
#include "gated/compiled/kernels.inl"
#endif

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/// @file
/// The loops that cost time, over plain memory: once in source, compiled for each form (ops/kernel_form.hpp).
///
/// The files of ops/kernels/ are included here once per form, each time in a namespace of the form's name and with its
/// instructions allowed. Templates, lambdas and what is inlined into them are compiled for the form too; what a kernel calls
/// elsewhere is not.

/// Unrolls the loop that follows, whose trip count is a small constant, so that its arrays live in registers.
#if EIGEN_COMP_GNUC || EIGEN_COMP_CLANG
#define GATED_UNROLL _Pragma("GCC unroll 16")
#else
#define GATED_UNROLL
#endif

// GCC 12 warns about its own AVX-512 intrinsics, which start from an undefined register on purpose, and about vectors of 512
// bits as arguments, which are all inlined.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

// Registers come first.
// clang-format off
#include "gated/ops/kernels/begin.inl"

#if GATED_CHOOSES_FORM

namespace gated::sse2 {
#include "gated/ops/kernels/registers_sse2.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::sse2

#include "gated/ops/kernels/begin_avx2.inl"
namespace gated::avx2 {
#include "gated/ops/kernels/registers_avx2.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::avx2
#include "gated/ops/kernels/end_form.inl"

#include "gated/ops/kernels/begin_avx512.inl"
namespace gated::avx512 {
#include "gated/ops/kernels/registers_avx512.inl"
#include "gated/ops/kernels/every.inl"
}  // namespace gated::avx512
#include "gated/ops/kernels/end_form.inl"

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

#endif

#include "gated/ops/kernels/end.inl"
// clang-format on

namespace gated {

template <class T>
const ProductKernels<T>& product_kernels() {
  return GATED_KERNEL(product_kernels<T>);
}

template <class T>
const Bf16Kernels* bf16_kernels() {
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
