#pragma once

#include "gated/layers/gmlp_block.hpp"
#include "gated/models/stack.hpp"

/// @file
/// The trunk of gMLP and aMLP.

namespace gated {

/// A stack of gMLP (or aMLP) blocks, whose configuration says how many: see Stack (arXiv:2105.08050).
template <class T>
using Gmlp = Stack<GmlpBlock<T>, GmlpConfig>;

}  // namespace gated
