#pragma once

#include <cmath>

#include "gated/core/matrix.hpp"

/// @file
/// Twiddle factors of Fourier transforms.

namespace gated {

/// A complex factor c + is. Also stores -s, for products with its conjugate.
template <class T>
struct FourierFactor {
  T c, s, minus_s;

  FourierFactor() = default;
  FourierFactor(long double cosine, long double sine)
      : c(static_cast<T>(cosine)), s(static_cast<T>(sine)), minus_s(static_cast<T>(-sine)) {}

  /// e^(-2πik/n), each part rounded once: the angle is reduced exactly to the first octant.
  static FourierFactor turn(Index k, Index n) {
    const Index whole = 8 * n;
    Index part = 8 * (k % n);
    const bool lower = part > whole / 2;
    part = lower ? whole - part : part;
    const bool left = part > whole / 4;
    part = left ? whole / 2 - part : part;
    const bool steep = part > whole / 8;
    part = steep ? whole / 4 - part : part;
    constexpr long double pi = 3.141592653589793238462643383279502884L;
    const long double angle = 2 * pi * static_cast<long double>(part) / static_cast<long double>(whole);
    const long double cosine = steep ? std::sin(angle) : std::cos(angle), sine = steep ? std::cos(angle) : std::sin(angle);
    return FourierFactor(left ? -cosine : cosine, lower ? sine : -sine);
  }
};

}  // namespace gated
