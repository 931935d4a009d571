#pragma once

#include <vector>

#include "gated/ops/kernels.hpp"

/// Applies functions of Simd to a std::vector.

namespace gated::test {

/// f(x) for each x; `f` takes and returns a Simd<T>.
template <class T, class F>
std::vector<T> on_vectors(const F& f, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  for_each_vector<T>(static_cast<Index>(x.size()),
                     [&](Index i, Index lanes) { f(Simd<T>::load(x.data() + i, lanes)).store(y.data() + i, lanes); });
  return y;
}

template <class T, class F>
T on_scalar(const F& f, T x) {
  return on_vectors(f, std::vector<T>{x}).front();
}

}  // namespace gated::test
