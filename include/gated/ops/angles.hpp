#pragma once

#include <algorithm>
#include <array>

#include "gated/core/elementary.hpp"
#include "gated/core/matrix.hpp"

/// @file
/// Cosines and sines of positions, for rotary and sinusoidal embeddings.

namespace gated {

/// Calls `f(t, k, cosine, sine)` with the cosine and sine of the angle (first + t) · frequencies[k], for every t < positions
/// and every k.
///
/// A position is split as 64·a + b. The cosines and sines of both parts are computed in double and combined by the angle-sum
/// identities. So a long sequence needs about one sine evaluation per 60 angles. A position's result is independent of the
/// start of the sequence. Error: below 4e-16, plus the error of rounding the angles of both parts to double.
template <class T, class F>
void for_each_angle(const Vector<T>& frequencies, Index first, Index positions, const F& f) {
  constexpr Index block = 64, lanes = 8;
  struct Turn {
    std::array<double, lanes> cosine, sine;
  };
  for (Index k = 0; k < frequencies.size(); k += lanes) {
    const Index width = std::min(lanes, frequencies.size() - k);
    const auto turn_to = [&](Turn& turn, Index position) {
      for (Index lane = 0; lane < width; ++lane) {
        const double angle = static_cast<double>(position) * static_cast<double>(frequencies[k + lane]);
        const elementary::Turn turned = elementary::turn(angle);
        turn.cosine[static_cast<std::size_t>(lane)] = turned.cosine;
        turn.sine[static_cast<std::size_t>(lane)] = turned.sine;
      }
    };
    std::array<Turn, block> within;
    std::array<bool, block> known{};
    Turn start{};
    Index start_of = -1;
    for (Index t = 0; t < positions; ++t) {
      const Index position = first + t, b = position % block;
      if (position - b != start_of) {
        start_of = position - b;
        turn_to(start, start_of);
      }
      Turn& offset = within[static_cast<std::size_t>(b)];
      if (!known[static_cast<std::size_t>(b)]) {
        known[static_cast<std::size_t>(b)] = true;
        turn_to(offset, b);
      }
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(width); ++lane) {
        f(t, k + static_cast<Index>(lane),
          rounded(start.cosine[lane] * offset.cosine[lane]) - rounded(start.sine[lane] * offset.sine[lane]),
          rounded(start.sine[lane] * offset.cosine[lane]) + rounded(start.cosine[lane] * offset.sine[lane]));
      }
    }
  }
}

}  // namespace gated
