#include "gated/io/model_file.hpp"

#undef GATED_HELD
#define GATED_HELD template

namespace gated {
GATED_HELD_FILES(float)
}  // namespace gated
