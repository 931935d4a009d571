#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gated/core/parameters.hpp"
#include "gated/core/unset.hpp"

/// @file
/// Whether a loss function has added anything to a gradient.

namespace gated::detail {

/// Sets a gradient to -0.0: adding any other value, even 0.0, changes it.
template <class Model>
void clear_gradient(Model& gradient) {
  using T = typename Model::Scalar;
  for_each_parameter([](const ParameterInfo&, auto values) { std::fill(values.begin(), values.end(), -T{0}); }, gradient);
}

/// True if anything was added since clear_gradient().
template <class Model>
bool has_gradient(const Model& gradient) {
  bool found = false;
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        found = found || std::any_of(values.begin(), values.end(), [](auto g) { return g != 0 || !std::signbit(g); });
      },
      gradient);
  return found;
}

/// A hash of the gradient's non-zero elements; 0 if there are none.
template <class Model>
std::uint64_t gradient_hash(const Model& gradient) {
  using T = typename Model::Scalar;
  std::uint64_t hash = 0;
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        for (const T g : values) {
          hash = g != 0 ? 31 * hash + Eigen::numext::bit_cast<BitsOf<T>>(g) : hash;
        }
      },
      gradient);
  return hash;
}

}  // namespace gated::detail
