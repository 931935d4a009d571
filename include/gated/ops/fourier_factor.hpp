#pragma once

#include <numbers>

#include "gated/core/elementary.hpp"
#include "gated/core/matrix.hpp"

/// @file
/// Twiddle factors of Fourier transforms.

namespace gated {

/// A complex factor c + i·s, stored with -s for products with its conjugate.
template <class T>
struct FourierFactor {
  T c, s, minus_s;

  FourierFactor() = default;
  FourierFactor(double cosine, double sine)
      : c(static_cast<T>(cosine)), s(static_cast<T>(sine)), minus_s(static_cast<T>(-sine)) {}

  /// e^(-2πik/n). The angle is reduced exactly to the first octant.
  static FourierFactor turn(Index k, Index n) {
    const Index whole = 8 * n;
    Index part = 8 * (k % n);
    const bool lower = part > whole / 2;
    part = lower ? whole - part : part;
    const bool left = part > whole / 4;
    part = left ? whole / 2 - part : part;
    const bool steep = part > whole / 8;
    part = steep ? whole / 4 - part : part;
    const elementary::Turn turned =
        elementary::turn(2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(whole));
    const double cosine = steep ? turned.sine : turned.cosine, sine = steep ? turned.cosine : turned.sine;
    return FourierFactor(left ? -cosine : cosine, lower ? sine : -sine);
  }
};

}  // namespace gated
