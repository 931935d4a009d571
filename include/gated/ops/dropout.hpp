#pragma once

#include <cmath>
#include <cstdint>

#include "gated/core/random.hpp"
#include "gated/core/matrix.hpp"

/// @file
/// Dropout masks.

namespace gated {

/// A dropout mask: each element is 0 with probability `rate` and 1 / (1 - rate) otherwise (Srivastava et al., 2014).
///
/// An element depends only on the seed and its position, so nothing is stored. The backward pass regenerates the same mask, in
/// any order and with any number of threads.
template <class T>
class DropoutMask {
 public:
  DropoutMask() = default;  ///< drops nothing
  DropoutMask(std::uint64_t seed, double rate)
      : seed_(seed), threshold_(std::ldexp(rate, 53)), kept_(static_cast<T>(1 / (1 - rate))) {}

  bool is_active() const { return threshold_ > 0; }

  /// The i-th mask derived from this one, with the same rate.
  DropoutMask at(Index i) const {
    DropoutMask other = *this;
    other.seed_ = random_bits_at(seed_, static_cast<std::uint64_t>(i));
    return other;
  }

  /// The part of this mask that begins at row `first`.
  DropoutMask from_row(Index first) const {
    DropoutMask rest = *this;
    rest.first_row_ += first;
    return rest;
  }

  /// The element at (row, column).
  T of(Index row, Index column) const {
    const auto place = static_cast<std::uint64_t>(first_row_ + row) << 32 | static_cast<std::uint64_t>(column);
    return static_cast<double>(random_bits_at(seed_, place) >> 11) < threshold_ ? T{0} : kept_;
  }

 private:
  std::uint64_t seed_ = 0;
  Index first_row_ = 0;
  double threshold_ = 0;
  T kept_{1};
};

}  // namespace gated
