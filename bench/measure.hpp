#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "gated/core/parallel.hpp"
#include "gated/ops/kernels.hpp"

/// @file
/// Time, and what the machine could have done in it.

namespace bench {

using gated::Index;
using gated::Threads;

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The middle one; of an even number the mean of the two in the middle.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The seconds that each of `runs` calls of `f` took, after one that is not timed.
template <class F>
std::vector<double> time_runs(int runs, F&& f) {
  f();
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const double start = seconds();
    f();
    times.push_back(seconds() - start);
  }
  return times;
}

/// The seconds of a call of `f`: the mean of as many calls as it takes until `at_least` seconds have passed, since one short
/// call alone says little.
template <class F>
double seconds_per_call(double at_least, F&& f) {
  const double start = seconds();
  double time = 0;
  for (int calls = 1;; ++calls) {
    f();
    time = seconds() - start;
    if (time >= at_least) {
      return time / calls;
    }
  }
}

/// A figure that is measured anew with each call.
using Measurement = std::function<double()>;

/// Takes what is to be compared by turns: in each turn every measurement is called once, so that what disturbs the machine
/// disturbs all. The first turn is not counted. `[i][turn]` is what `measurements[i]` returned.
inline std::vector<std::vector<double>> by_turns(int turns, const std::vector<Measurement>& measurements) {
  std::vector<std::vector<double>> figures(measurements.size());
  for (int turn = -1; turn < turns; ++turn) {
    for (std::size_t i = 0; i < measurements.size(); ++i) {
      const double figure = measurements[i]();
      if (turn >= 0) {
        figures[i].push_back(figure);
      }
    }
  }
  return figures;
}

/// The most threads that this machine can run at the same time.
inline int most_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

/// As many threads as `text` says. Errors: ArgumentError for what is no number, and where this machine has fewer, since a table
/// would then name threads that waited for each other.
inline Threads usable_threads(std::string_view text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const bool is_number = std::from_chars(text.data(), end, count).ptr == end;
  gated::require<gated::ArgumentError>(is_number && count >= 1 && count <= most_threads(), "threads = ", text,
                                       ", expected 1 … ", most_threads(), ": what this machine has.");
  return Threads{count};
}

/// 1, 2, 4, … and most_threads().
inline std::vector<std::int64_t> thread_counts() {
  std::vector<std::int64_t> counts;
  for (int count = 1; count < most_threads(); count *= 2) {
    counts.push_back(count);
  }
  counts.push_back(most_threads());
  return counts;
}

namespace detail {

/// Independent chains of multiply-adds. With 32 registers, enough to keep four units of latency 4 busy; with 16, three of
/// them, and no sum leaves its register.
inline constexpr unsigned chains = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 16 : 12;

template <class T>
EIGEN_DONT_INLINE T multiply_add(Index steps, T factor) {
  gated::Simd<T> sums[chains];
  GATED_UNROLL
  for (unsigned i = 0; i < chains; ++i) {
    sums[i] = gated::Simd<T>(static_cast<T>(i));
  }
  const gated::Simd<T> x(factor);
  for (Index step = 0; step < steps; ++step) {
    GATED_UNROLL
    for (unsigned i = 0; i < chains; ++i) {
      sums[i] = fma(x, sums[i], x);  // tends to x / (1 - x)
    }
  }
  gated::Simd<T> sum(T{0});
  GATED_UNROLL
  for (unsigned i = 0; i < chains; ++i) {
    sum = sum + sums[i];
  }
  return sum.sum();
}

}  // namespace detail

/// Runs multiply-adds alone, at the vector width of this build, on each of `threads` threads for some milliseconds. Returns the
/// floating-point operations per second, of which a multiply-add has two.
template <class T = float>
double multiply_add_rate(const Threads& threads) {
  constexpr Index steps = Index{1} << 22;
  std::vector<T> results(static_cast<std::size_t>(threads.count()));
  const double start = seconds();
  gated::parallel_for(threads, threads.count(), [&](Index task, Index) {
    results[static_cast<std::size_t>(task)] = detail::multiply_add<T>(steps, T(0.5));
  });
  const double time = seconds() - start;
  volatile T used = results.front();  // so that the loops are not removed
  static_cast<void>(used);
  return 2.0 * detail::chains * static_cast<double>(gated::Simd<T>::width * steps * threads.count()) / time;
}

/// The peak: the best of `tries` multiply_add_rate(), in floating-point operations per second.
template <class T = float>
double measure_peak(const Threads& threads, int tries = 7) {
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    best = std::max(best, multiply_add_rate<T>(threads));
  }
  return best;
}

/// measure_peak(), measured once per number of threads in a run.
template <class T = float>
double peak(const Threads& threads) {
  static std::map<int, double> known;
  const auto found = known.find(threads.count());
  return found != known.end() ? found->second : known[threads.count()] = measure_peak<T>(threads);
}

}  // namespace bench
