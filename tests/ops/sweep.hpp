#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/ops/on_vectors.hpp"

/// Numbers of every size, and what a function of Simd makes of them against a reference, for the tests of ops.

namespace gated::test {

/// Numbers of every binary exponent and both signs, ±0 and those below the smallest normal number among them: sixteen of each,
/// but fifteen hundred where |x| is between 2⁻¹² and 2¹⁰, where functions do what they are there for.
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

/// Where an error is largest, and how large.
struct LargestError {
  double error = 0;  ///< in machine epsilons of the scale
  double at = 0;
};

/// The largest |f(x) - truth(x)|, in machine epsilons of scale(x), over the finite values of all sizes.
///
/// What is lost because an exponential below the smallest normal number counts as 0 is no error: 2¹² such numbers, for
/// exponentials are multiplied by numbers of up to 2¹² when they vanish.
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
