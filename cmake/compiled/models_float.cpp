#define GATED_IS_COMPILING
#include "gated/gated.hpp"

namespace gated {
GATED_HELD_MODELS(float)
}  // namespace gated
