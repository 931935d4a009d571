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
/// Timing, and the machine's peak in flops per second.

namespace bench {

using gated::Index;
using gated::Threads;

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The median; for an even number of values, the mean of the middle two.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The seconds of each of `runs` calls of `f`, after a warm-up call.
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

/// The mean seconds per call of `f`. Repeats the call for `at_least` seconds, because one short call is too noisy.
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

/// A function that makes one measurement and returns its value.
using Measurement = std::function<double()>;

/// Interleaves measurements: every turn calls each measurement once, so other load on the machine affects them all. The first
/// turn is a warm-up. In the result, `[i][turn]` is the value that `measurements[i]` returned in that turn.
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

/// Parses a number of threads.
/// Errors: ArgumentError unless `text` is a number from 1 to most_threads(): more threads would share processors.
inline Threads usable_threads(std::string_view text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const bool is_number = std::from_chars(text.data(), end, count).ptr == end;
  gated::require<gated::ArgumentError>(is_number && count >= 1 && count <= most_threads(), "threads = ", text,
                                       ", expected 1 … ", most_threads(), ": at most one per processor.");
  return Threads{count};
}

/// The numbers of threads to measure with: 1, 2, 4, … and most_threads().
inline std::vector<std::int64_t> thread_counts() {
  std::vector<std::int64_t> counts;
  for (int count = 1; count < most_threads(); count *= 2) {
    counts.push_back(count);
  }
  counts.push_back(most_threads());
  return counts;
}

namespace detail {

/// The number of independent multiply-add chains; all their sums stay in registers. With 32 vector registers, 16 chains
/// keep four multiply-add units busy (latency: 4 cycles); with 16 registers, 12 chains keep three units busy.
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

/// The flops per second (two per multiply-add) of pure multiply-adds at this build's vector width. Each of `threads` threads
/// computes for a few milliseconds.
template <class T = float>
double multiply_add_rate(const Threads& threads) {
  constexpr Index steps = Index{1} << 22;
  std::vector<T> results(static_cast<std::size_t>(threads.count()));
  const double start = seconds();
  gated::parallel_for(threads, threads.count(), [&](Index task, Index) {
    results[static_cast<std::size_t>(task)] = detail::multiply_add<T>(steps, T(0.5));
  });
  const double time = seconds() - start;
  volatile T used = results.front();  // keeps the compiler from removing the loops
  static_cast<void>(used);
  return 2.0 * detail::chains * static_cast<double>(gated::Simd<T>::width * steps * threads.count()) / time;
}

/// The peak, in flops per second: the best of `tries` calls of multiply_add_rate().
template <class T = float>
double measure_peak(const Threads& threads, int tries = 7) {
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    best = std::max(best, multiply_add_rate<T>(threads));
  }
  return best;
}

/// The result of measure_peak(), cached for each number of threads.
template <class T = float>
double peak(const Threads& threads) {
  static std::map<int, double> known;
  const auto found = known.find(threads.count());
  return found != known.end() ? found->second : known[threads.count()] = measure_peak<T>(threads);
}

}  // namespace bench
