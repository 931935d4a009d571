#include "gated/gated.hpp"

#undef GATED_HELD
#define GATED_HELD template

namespace gated {
GATED_HELD_MODELS(double)
}  // namespace gated
