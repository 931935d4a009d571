#pragma once

#include "gated/core/matrix.hpp"
#include "gated/core/rounded.hpp"

/// @file
/// Sums in a fixed order. Eigen's order depends on the instruction set.

namespace gated {

/// Σ f(j) over j < count: eight partial sums, added in a fixed order. If f multiplies, it must return `rounded()` products.
template <class F>
auto ordered_sum(Index count, const F& f) {
  decltype(f(Index{})) sums[8] = {};
  for (Index j = 0; j < count; ++j) {
    sums[j % 8] += f(j);
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// Σ x_j over a row.
template <class Row>
auto ordered_sum(const Eigen::DenseBase<Row>& x) {
  return ordered_sum(x.size(), [&](Index j) { return x.derived().coeff(j); });
}

}  // namespace gated
