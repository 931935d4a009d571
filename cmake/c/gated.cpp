// The shared library of gated::c: the functions of gated/c/gated.h.

#include "gated/c/implementation.hpp"
