#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "gated/core/matrix.hpp"
#include "gated/core/random.hpp"

/// Random matrices, comparisons and error messages, for all tests.

namespace gated::test {

/// A rows × columns matrix of samples of N(0, deviation²).
template <class T>
Matrix<T> random_matrix(Index rows, Index columns, std::uint64_t seed, double deviation = 1.0) {
  Matrix<T> x(rows, columns);
  Random random(seed);
  fill_normal(x, deviation, random);
  return x;
}

template <class T>
Vector<T> random_vector(Index size, std::uint64_t seed, double deviation = 1.0) {
  Vector<T> x(size);
  Random random(seed);
  fill_normal(x, deviation, random);
  return x;
}

template <class T>
auto bits_of(T x) {
  return Eigen::numext::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(x);
}

/// Succeeds if a and b have equal sizes and bits: 0 differs from -0, and a NaN equals only a NaN with the same bits.
template <class A, class B>
::testing::AssertionResult same_bits(const A& a, const B& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) {
    return ::testing::AssertionFailure() << a.rows() << " × " << a.cols() << " against " << b.rows() << " × " << b.cols();
  }
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      if (bits_of(a(i, j)) != bits_of(b(i, j))) {
        return ::testing::AssertionFailure() << "at (" << i << ", " << j << "): " << a(i, j) << " against " << b(i, j);
      }
    }
  }
  return ::testing::AssertionSuccess();
}

/// Succeeds if |got - expected| ≤ tolerance. A NaN equals only a NaN, and an infinity only itself.
template <class T>
::testing::AssertionResult close(T got, long double expected, long double tolerance) {
  const auto value = static_cast<long double>(got);
  const bool both_nan = std::isnan(value) && std::isnan(expected);
  if (both_nan || value == expected || std::fabs(value - expected) <= tolerance) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << got << ", expected " << expected << " ± " << tolerance;
}

/// The distance of `got` from `exact` in ulps of T.
template <class T>
double distance_in_ulp(T got, long double exact) {
  const T magnitude = std::fabs(static_cast<T>(exact));
  const T next = std::nextafter(magnitude, std::numeric_limits<T>::infinity());
  const long double unit = static_cast<long double>(next) - static_cast<long double>(magnitude);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / unit);
}

/// cos(angle) + i sin(angle) for |angle| ≤ 10⁷. Subtracts turns of 2π first, because MinGW's `std::cos(long double)` uses x87
/// instructions, which know only 66 bits of π.
inline std::complex<long double> exact_turn(long double angle) {
  // 2π = first + rest. `first` has 32 bits, so `turns * first` is exact, even if long double is no wider than double.
  constexpr long double first = 6.2831853069365024566650390625L, rest = 2.43084020260247704059005768394398799e-10L;
  const long double turns = std::round(angle / first);
  return std::polar(1.0L, (angle - turns * first) - turns * rest);
}

/// The message of the exception of type `E` that `f` throws. If `f` throws nothing, the test fails and the result is empty.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace gated::test
