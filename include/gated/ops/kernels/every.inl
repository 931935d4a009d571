// All kernels of one form (instruction set). Included once per form by ops/kernels.hpp, after the form's registers_*.inl.

#include "gated/ops/kernels/floating_point.inl"
#include "gated/ops/kernels/int8.inl"

#if GATED_HAS_PORTABLE_KERNELS
namespace portable {
inline constexpr bool is_portable = true;
#include "gated/ops/kernels/floating_point.inl"
}  // namespace portable
#endif
