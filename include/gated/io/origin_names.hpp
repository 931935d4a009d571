#pragma once

#include "gated/io/name_map.hpp"
#include "gated/io/origin.hpp"

/// @file
/// The name maps of all writers of checkpoints that are known.

namespace gated {

/// The map of the names in `file`, which `origin` wrote: all of its own, or what a larger model keeps under a `prefix`.
NameMap names_of(const SafetensorsFile& file, const Origin& origin);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/origin_names.inl"
#endif
