#pragma once

#include "gated/core/function_ref.hpp"

/// @file
/// The work of a parallel loop.

namespace gated {

/// The work of one loop: `work(i)` runs what it can as worker i. No two threads use one i at a time.
using Work = FunctionRef<void(int worker)>;

}  // namespace gated
