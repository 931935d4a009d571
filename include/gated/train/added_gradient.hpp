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

/// A hash of the first elements of each parameter's gradient, except embeddings: a micro-batch skips most of their rows. 0 if
/// these elements are 0.
template <class Model>
std::uint64_t gradient_sample(const Model& gradient) {
  using T = typename Model::Scalar;
  std::uint64_t hash = 0;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        for (const T g : values.first(info.role == Role::embedding ? 0 : std::min<std::size_t>(values.size(), 4))) {
          hash = g != 0 ? 31 * hash + Eigen::numext::bit_cast<BitsOf<T>>(g) : hash;
        }
      },
      gradient);
  return hash;
}

}  // namespace gated::detail
