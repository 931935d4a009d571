#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "gated/core/rounded.hpp"

/// @file
/// Exponential, logarithm, power, sine and cosine, bit-equal on every machine.
///
/// C libraries differ in the last digits of these functions. The versions here use +, -, × and ÷ of doubles, and round each
/// product before adding it. Largest errors: exp 1.2 ulps, log 3 ulps, pow 1.2 + 1.5 |ln result| ulps, cosine and sine 2e-16
/// for angles below 10⁶. See tests/core/elementary_test.cpp.

namespace gated::elementary {

/// c₀ + c₁ x + c₂ x² + …
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) {
    sum = rounded(sum * x) + c[i];
  }
  return sum;
}

/// 1/first!, ±1/(first + step)!, 1/(first + 2 step)!, …
template <std::size_t N>
constexpr std::array<double, N> inverse_factorials(int first, int step, int sign) {
  std::array<double, N> result{};
  double factorial = 1, sign_of = 1;
  int reached = 0;
  for (std::size_t i = 0; i < N; ++i) {
    for (const int wanted = first + step * static_cast<int>(i); reached < wanted;) {
      factorial *= ++reached;  // exact up to 22!
    }
    result[i] = sign_of / factorial;
    sign_of *= sign;
  }
  return result;
}

/// ln 2, rounded to so few bits that its product with any double's exponent is exact.
inline constexpr double ln2_high = 0.69314718036912381649;
/// ln 2 - ln2_high.
inline constexpr double ln2_low = 1.9082149292705877e-10;

/// exp(x) = 2ⁿ exp(r), where x = n ln 2 + r with |r| ≤ ln 2 / 2. exp(r) is computed by its Taylor series.
inline double exp(double x) {
  if (!(std::abs(x) < 746)) {
    return x > 0 ? std::numeric_limits<double>::infinity() : x < 0 ? 0 : x;
  }
  constexpr auto series = inverse_factorials<15>(0, 1, 1);
  x = rounded(x);  // stops the compiler from fusing a product passed by the caller
  const double n = std::floor(rounded(x * std::numbers::log2e) + 0.5);
  const double r = (x - rounded(n * ln2_high)) - rounded(n * ln2_low);
  return std::ldexp(polynomial(series, r), static_cast<int>(n));
}

/// ln x = n ln 2 + 2 artanh((m - 1) / (m + 1)), where x = 2ⁿ m with m near 1. artanh is computed by its Taylor series.
inline double log(double x) {
  if (!(x > 0) || std::isinf(x)) {
    return x == 0 ? -std::numeric_limits<double>::infinity() : x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  }
  constexpr auto series = [] {
    std::array<double, 12> result{};
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = 1 / static_cast<double>(2 * i + 1);
    }
    return result;
  }();
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), n = exponent;
  return rounded(n * ln2_high) + (rounded(2 * s * polynomial(series, rounded(s * s))) + rounded(n * ln2_low));
}

/// base^exponent for base > 0.
inline double pow(double base, double exponent) { return exp(rounded(exponent * log(base))); }

/// cos φ and sin φ.
struct Turn {
  double cosine, sine;
};

/// The cosine and sine of angle = n π/2 + r with |r| ≤ π/4, from the Taylor series of cos r and sin r.
inline Turn turn(double angle) {
  constexpr auto of_sine = inverse_factorials<8>(3, 2, -1);  // of (r - sin r) / r³
  constexpr auto of_cosine = inverse_factorials<9>(0, 2, -1);
  // π/2 as a sum of three parts. Products of the first two with n < 2²⁰ are exact.
  constexpr double high = 1.57079632673412561417, middle = 6.07710050630396597660e-11, low = 2.02226624879595063154e-21;
  angle = rounded(angle);  // stops the compiler from fusing a product passed by the caller
  const double n = std::floor(rounded(angle * (2 / std::numbers::pi)) + 0.5);
  const double r = ((angle - rounded(n * high)) - rounded(n * middle)) - rounded(n * low), square = rounded(r * r);
  const double sine = r - rounded(rounded(r * square) * polynomial(of_sine, square)), cosine = polynomial(of_cosine, square);
  const double quarter = n - 4 * std::floor(n / 4);
  return quarter == 0   ? Turn{cosine, sine}
         : quarter == 1 ? Turn{-sine, cosine}
         : quarter == 2 ? Turn{-cosine, -sine}
                        : Turn{sine, -cosine};
}

}  // namespace gated::elementary
