#include "gated/layers/relative_bias.hpp"

// Optimised and without exceptions, GCC follows a size to the memory that it asks for, and warns of what cannot be.

gated::RelativeBias<float> bias_of(gated::RelativeBiasForm form, gated::Index positions);
gated::RelativeBias<float> bias_of(gated::RelativeBiasForm form, gated::Index positions) {
  return {form, false, 1.0f, positions};
}
