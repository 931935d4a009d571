#pragma once

#include "gated/core/function_ref.hpp"

/// @file
/// What a loop asks of threads.

namespace gated {

/// The work of one loop. `work(i)` does what it can as worker i; each i has one thread at a time.
using Work = FunctionRef<void(int worker)>;

}  // namespace gated
