#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "gated/core/matrix.hpp"

/// The reference Fourier transform, in long double, and the tolerance of fast transforms.

namespace gated::test {

using Exact = std::complex<long double>;
using ExactColumn = std::vector<Exact>;

/// y_k = Σ_t x_t e^(-2πikt/n) for every k.
inline ExactColumn literal_transform(const ExactColumn& x) {
  const std::size_t n = x.size();
  ExactColumn turns, y(n);
  for (std::size_t k = 0; k < n; ++k) {
    turns.push_back(std::polar(1.0L, -2 * std::acos(-1.0L) * static_cast<long double>(k) / static_cast<long double>(n)));
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t t = 0; t < n; ++t) {
      y[k] += x[t] * turns[k * t % n];
    }
  }
  return y;
}

/// The largest error allowed, relative to the largest element of the result.
template <class T>
constexpr double fourier_tolerance = std::is_same_v<T, float> ? 2e-6 : 1e-12;

/// Succeeds if every element has |got - expected| ≤ fourier_tolerance · max |expected|.
template <class T, class A>
::testing::AssertionResult near_largest(const A& got, const Matrix<long double>& expected) {
  if (got.rows() != expected.rows() || got.cols() != expected.cols()) {
    return ::testing::AssertionFailure() << got.rows() << " × " << got.cols() << " against " << expected.rows() << " × "
                                         << expected.cols();
  }
  const long double largest = expected.size() == 0 ? 0 : expected.cwiseAbs().maxCoeff();
  long double worst = 0;
  for (Index i = 0; i < expected.rows(); ++i) {
    for (Index j = 0; j < expected.cols(); ++j) {
      const long double error = std::fabs(static_cast<long double>(got(i, j)) - expected(i, j));
      if (!(error <= fourier_tolerance<T> * largest)) {
        return ::testing::AssertionFailure()
               << "at (" << i << ", " << j << "): " << got(i, j) << ", expected " << expected(i, j) << ", largest " << largest;
      }
      worst = std::max(worst, error);
    }
  }
  return ::testing::AssertionSuccess() << "error " << worst / largest;
}

}  // namespace gated::test
