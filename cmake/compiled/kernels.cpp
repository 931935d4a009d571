#include "gated/ops/kernels.hpp"

#undef GATED_HELD
#define GATED_HELD template

namespace gated {
GATED_HELD_KERNELS(float)
GATED_HELD_KERNELS(double)
}  // namespace gated
