#define GATED_IS_COMPILING
#include "gated/gated.hpp"

namespace gated {
GATED_HELD_OPS(float)
GATED_HELD_LAYERS(float)
}  // namespace gated
