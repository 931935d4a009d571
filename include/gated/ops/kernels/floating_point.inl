// All floating-point kernels. Each file included below needs those before it.

/// The kernel tables of this KernelForm and Arithmetic: see ops/kernel_table.hpp. Each is defined below its kernels.
template <class Table>
extern const Table table;

// clang-format off
#include "gated/ops/kernels/simd.inl"
#include "gated/ops/kernels/running_sum.inl"
#include "gated/ops/kernels/special.inl"
#include "gated/ops/kernels/activation.inl"
#include "gated/ops/kernels/dropout.inl"
#include "gated/ops/kernels/epilogue.inl"
#include "gated/ops/kernels/weight_codes.inl"
#include "gated/ops/kernels/gemm.inl"
#include "gated/ops/kernels/softmax.inl"
#include "gated/ops/kernels/scores.inl"
#include "gated/ops/kernels/norm.inl"
#include "gated/ops/kernels/attention.inl"
#include "gated/ops/kernels/rotary.inl"
#include "gated/ops/kernels/terms.inl"
#include "gated/ops/kernels/depthwise.inl"
#include "gated/ops/kernels/fourier.inl"
#include "gated/ops/kernels/training.inl"
// clang-format on
