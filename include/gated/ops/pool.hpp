#pragma once

#include "gated/core/sequences.hpp"
#include "gated/ops/norm.hpp"
#include "gated/ops/running_sum.hpp"

/// @file
/// One vector per sequence.

namespace gated {

/// y[b] = mean of the rows of sequence b, summed in their order; zeros for an empty sequence.
///
/// Shapes: x is rows × C, y is sequences × C. Cost: one pass over x.
template <class T>
void mean_over_tokens(const ConstView<T>& x, const Sequences& sequences, View<T> y, const Workspace<T>& workspace) {
  parallel_for(workspace.threads(), sequences.count(), [&](Index b, Index) {
    const Index length = sequences.length(b);
    const Simd<T> factor(length == 0 ? T{0} : T{1} / static_cast<T>(length));
    for_each_vector<T>(x.cols(), [&](Index j, Index lanes) {
      RunningSum<T> sum;
      const T* from = x.data() + sequences.offset(b) * x.outerStride() + j;
      for (Index i = 0; i < length; ++i, from += x.outerStride()) {
        sum.add(Simd<T>::load(from, lanes));
      }
      (sum.lanes() * factor).store(&y.coeffRef(b, j), lanes);
    });
  });
}

}  // namespace gated
