#pragma once

#include <limits>

#include "gated/core/matrix.hpp"

/// @file
/// Element counts from untrusted sizes.

namespace gated {

/// An element count whose sums and products saturate at the largest Index. Negative sizes, which layers refuse, count as 0.
class Count {
 public:
  static constexpr Index most = std::numeric_limits<Index>::max();

  constexpr Count(Index count) : count_(count < 0 ? 0 : count) {}  // NOLINT: implicit conversion is intended

  constexpr Index value() const { return count_; }

  friend constexpr Count operator+(Count a, Count b) { return a.count_ > most - b.count_ ? most : a.count_ + b.count_; }
  friend constexpr Count operator*(Count a, Count b) {
    return b.count_ != 0 && a.count_ > most / b.count_ ? most : a.count_ * b.count_;
  }
  Count& operator+=(Count other) { return *this = *this + other; }

  friend constexpr bool operator==(Count, Count) = default;

 private:
  Index count_;
};

}  // namespace gated
