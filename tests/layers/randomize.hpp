#pragma once

#include <cstdint>

#include "gated/core/parameters.hpp"
#include "gated/core/random.hpp"

namespace gated::test {

/// Randomizes every parameter of `model`, so every term of its formula has an effect. Norm parameters are drawn around 1.
template <class Model>
void randomize(Model& model, std::uint64_t seed, double deviation = 0.3) {
  Random random(seed);
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        using T = typename decltype(values)::value_type;
        fill_normal(values, deviation, random);
        for (T& value : values) {
          value += static_cast<T>(info.role == Role::norm ? 1 : 0);
        }
      },
      model);
}

}  // namespace gated::test
