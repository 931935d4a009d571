#pragma once

#include "gated/core/matrix.hpp"
#include "gated/core/rounded.hpp"

/// @file
/// Sums in a fixed order. Eigen's summation order depends on the instruction set.

namespace gated {

/// Σ f(j) over j < count: eight partial sums, added in a fixed order. f must pass products through rounded().
template <class F>
auto ordered_sum(Index count, const F& f) {
  constexpr Index lanes = 8;  // independent sums, for vectorization
  decltype(f(Index{})) sums[lanes] = {};
  Index j = 0;
  for (; j + lanes <= count; j += lanes) {
    for (Index lane = 0; lane < lanes; ++lane) {
      sums[lane] += f(j + lane);
    }
  }
  for (Index lane = 0; j < count; ++j, ++lane) {
    sums[lane] += f(j);
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// Σ x_j over the elements of a row.
template <class Row>
auto ordered_sum(const Eigen::DenseBase<Row>& x) {
  return ordered_sum(x.size(), [&](Index j) { return x.derived().coeff(j); });
}

/// Σ a_j b_j over the elements of two rows.
template <class A, class B>
auto ordered_dot(const Eigen::DenseBase<A>& a, const Eigen::DenseBase<B>& b) {
  return ordered_sum(a.size(), [&](Index j) { return rounded(a.derived().coeff(j) * b.derived().coeff(j)); });
}

}  // namespace gated
