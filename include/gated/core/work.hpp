#pragma once

#include "gated/core/function_ref.hpp"

/// @file
/// The work of a parallel loop.

namespace gated {

/// The work of one loop: `work(i)` runs tasks as worker i until none are left. No two threads use the same i at the same time.
using Work = FunctionRef<void(int worker)>;

}  // namespace gated
