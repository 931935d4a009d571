#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace examples {

/// The median time of a call in milliseconds, over 3 to 101 calls: as many as fit into a quarter of a second.
template <class Call>
double median_ms(Call call) {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < 3 || (times.size() < 101 && Clock::now() - start < Milliseconds(250))) {
    const auto begin = Clock::now();
    call();
    times.push_back(Milliseconds(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace examples
