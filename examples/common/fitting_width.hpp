#pragma once

#include "gated/core/parameters.hpp"

namespace examples {

/// The width, a multiple of `step`, at which Model(config_of(width)) has the parameter count nearest to `wanted`; 0 if even the
/// narrowest model has more than `wanted`. The parameter count must grow linearly with the width.
template <class Model, class ConfigOf>
gated::Index fitting_width(gated::Index wanted, const ConfigOf& config_of, gated::Index step) {
  const gated::Index narrowest = gated::parameter_count(Model(config_of(step)));
  const gated::Index growth = gated::parameter_count(Model(config_of(2 * step))) - narrowest;
  return wanted < narrowest ? 0 : step * (1 + (wanted - narrowest + growth / 2) / growth);
}

}  // namespace examples
