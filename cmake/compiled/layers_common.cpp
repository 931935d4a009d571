// The definitions in core/ that do not depend on the scalar type.

#include "gated/core/parallel.inl"
