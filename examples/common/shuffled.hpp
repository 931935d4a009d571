#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "gated/core/random.hpp"

namespace examples {

/// The numbers from 0 to count - 1 in random order.
inline std::vector<gated::Index> shuffled(gated::Index count, gated::Random& random) {
  std::vector<gated::Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), gated::Index{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
  }
  return order;
}

}  // namespace examples
