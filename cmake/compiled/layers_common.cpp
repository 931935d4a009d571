// Definitions of core/ that do not depend on the scalar.

#include "gated/core/parallel.inl"
