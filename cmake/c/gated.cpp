// Source of the shared library gated::c: defines the functions of gated/c/gated.h.

#include "gated/c/implementation.hpp"
