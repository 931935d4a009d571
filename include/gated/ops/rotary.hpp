#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "gated/core/workspace.hpp"
#include "gated/ops/angles.hpp"

/// @file
/// Rotary position embedding (RoPE; Su et al., arXiv:2104.09864).

namespace gated {

/// Whether channels are rotated by position, and which of them form pairs.
enum class Rotary {
  none,
  interleaved,  ///< (0, 1), (2, 3), …: rotary-embedding-torch, GAU-α
  half          ///< (0, r/2), (1, r/2 + 1), …: the FLASH paper, JunnYu's FLASH-Quad
};

constexpr auto names_of(Rotary) {
  return std::array{std::pair{Rotary::none, std::string_view("none")},
                    std::pair{Rotary::interleaved, std::string_view("interleaved")},
                    std::pair{Rotary::half, std::string_view("half")}};
}

/// base^(-2k/r) for k < r/2: the angle by which pair k turns from one position to the next.
template <class T>
Vector<T> rotary_frequencies(Index dimensions, double base = 10000.0) {
  require<ArgumentError>(dimensions > 0 && dimensions % 2 == 0, "rotary_frequencies: dimensions = ", dimensions,
                         ", expected a positive even number: channels are rotated in pairs.");
  Vector<T> frequencies(dimensions / 2);
  for (Index k = 0; k < frequencies.size(); ++k) {
    frequencies[k] = static_cast<T>(std::pow(base, -2.0 * static_cast<double>(k) / static_cast<double>(dimensions)));
  }
  return frequencies;
}

/// Row t of `table` becomes cos(p f_k) for all k, then sin(p f_k), at position p = first + t. The angle is taken in double, so
/// that it is right at any position. Shapes: frequencies is r/2, table is tokens × r.
template <class T>
void rotary_table(const Vector<T>& frequencies, Index first, View<T> table) {
  const Index pairs = frequencies.size();
  for_each_angle(frequencies, first, table.rows(), [&](Index t, Index k, double cosine, double sine) {
    table(t, k) = static_cast<T>(cosine);
    table(t, pairs + k) = static_cast<T>(sine);
  });
}

/// Rotates the first r channels of each row, pair by pair: (a, b) → (a cos - b sin, b cos + a sin), in place.
///
/// Shapes: x is tokens × C with C ≥ r, table is tokens × r from rotary_table(). Cost: one pass over x.
template <class T>
void rotate(View<T> x, const ConstView<T>& table, Rotary layout) {
  const Index pairs = table.cols() / 2;
  const Index step = layout == Rotary::interleaved ? 2 : 1, partner = layout == Rotary::interleaved ? 1 : pairs;
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index k = 0; k < pairs; ++k) {
      T &a = x(t, k * step), &b = x(t, k * step + partner);
      const T cosine = table(t, k), sine = table(t, pairs + k);
      const T turned = a * cosine - b * sine;
      b = b * cosine + a * sine;
      a = turned;
    }
  }
}

}  // namespace gated
