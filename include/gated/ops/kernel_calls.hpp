#pragma once

#include "gated/ops/kernel_form.hpp"
#include "gated/ops/kernel_table.hpp"

/// @file
/// Include this header to call kernels.
///
/// With gated::compiled, this header declares only the types of the kernel tables. Code with its own terms (ops/terms.hpp) or
/// vector loops includes ops/kernels.hpp, as training does.

#if !defined(GATED_COMPILED) || !GATED_CHOOSES_FORM
#include "gated/ops/kernels.hpp"
#endif
