// What core/ does for all scalars.

#include "gated/core/parallel.inl"
