#pragma once

#include "gated/ops/kernel_form.hpp"
#include "gated/ops/kernel_table.hpp"

/// @file
/// The kernels, for those who call them.
///
/// A program that links gated::compiled has only the types of their tables from here: where it has terms (ops/terms.hpp) or
/// loops on vectors of its own, it includes ops/kernels.hpp, as training does.

#if !defined(GATED_COMPILED) || !GATED_CHOOSES_FORM
#include "gated/ops/kernels.hpp"
#endif
