#pragma once

#include "common/run_main.hpp"
#include "gated/ops/bf16_products.hpp"

namespace examples {

/// The bf16 engine for matmuls if `bf16` (the option --bf16) is true; otherwise nullptr, for float32 matmuls.
/// Errors: UsageError if `bf16` is true and AVX512-BF16 is missing or excluded by GATED_KERNELS.
inline const gated::ProductEngine<float>* products(bool bf16) {
  gated::require<UsageError>(!bf16 || gated::bf16_products() != nullptr,
                             "--bf16: this processor has no AVX512-BF16, or GATED_KERNELS excludes it. Leave the option out.");
  return bf16 ? gated::bf16_products() : nullptr;
}

}  // namespace examples
