#define GATED_IS_COMPILING
#include "gated/gated.hpp"

namespace gated {
GATED_HELD_OPS(double)
GATED_HELD_LAYERS(double)
}  // namespace gated
