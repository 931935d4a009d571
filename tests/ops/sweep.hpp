#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/ops/on_vectors.hpp"

/// Measures the error of Simd functions over all magnitudes.

namespace gated::test {

/// Values of both signs, including ±0 and subnormals: 16 per binary exponent, but 1500 per exponent in the range that matters
/// most, 2⁻¹² ≤ |x| < 2¹⁰.
template <class T>
std::vector<T> numbers_of_every_size() {
  using limits = std::numeric_limits<T>;
  std::vector<T> x{T{0}, -T{0}, limits::denorm_min(), -limits::denorm_min(), limits::max(), -limits::max()};
  std::uint64_t state = 1;
  for (int exponent = limits::min_exponent - limits::digits; exponent < limits::max_exponent; ++exponent) {
    const int count = exponent >= -12 && exponent < 10 ? 1500 : 16;
    for (int i = 0; i < count; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const T fraction = T{1} + static_cast<T>(state >> 11) / static_cast<T>(1ULL << 53);
      const T size = std::min(std::ldexp(fraction, exponent), limits::max());
      x.push_back(i % 2 == 0 ? size : -size);
    }
  }
  return x;
}

/// The largest error, and the x at which it occurs.
struct LargestError {
  double error = 0;  ///< in machine epsilons of the scale
  double at = 0;
};

/// The largest |f(x) - truth(x)|, in machine epsilons of scale(x), over finite values of all magnitudes.
///
/// Ignores absolute errors up to 2¹² · min, where min is the smallest normal number: exponentials below min flush to 0, and
/// some functions multiply them by up to 2¹².
template <class T, class F, class Truth, class Scale>
LargestError largest_error(const F& f, const Truth& truth, const Scale& scale) {
  const auto epsilon = static_cast<long double>(std::numeric_limits<T>::epsilon());
  const auto smallest = static_cast<long double>(std::numeric_limits<T>::min());
  const std::vector<T> x = numbers_of_every_size<T>(), y = on_vectors(f, x);
  LargestError largest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<long double>(x[i]), expected = static_cast<long double>(truth(at));
    if (std::fabs(expected) > static_cast<long double>(std::numeric_limits<T>::max())) {
      largest = std::isinf(y[i]) && (y[i] > 0) == (expected > 0) ? largest : LargestError{HUGE_VAL, static_cast<double>(x[i])};
      continue;
    }
    const long double distance = std::fabs(static_cast<long double>(y[i]) - expected);
    const auto error =
        static_cast<double>(distance <= 4096 * smallest ? 0 : distance / (epsilon * static_cast<long double>(scale(at))));
    if (!(error <= largest.error)) {
      largest = {error, static_cast<double>(x[i])};
    }
  }
  return largest;
}

}  // namespace gated::test
