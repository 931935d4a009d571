#define GATED_IS_COMPILING
#include "gated/io/model_file.hpp"

namespace gated {
GATED_HELD_FILES(float)
}  // namespace gated
