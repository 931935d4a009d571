#pragma once

#include <benchmark/benchmark.h>

#include "measure.hpp"

/// @file
/// Counters that benchmarks report.

namespace bench {

/// Calls `f` in the loop of `state`, after a warm-up call that allocates memory and fills caches. Returns the seconds per call.
template <class F>
double run(benchmark::State& state, F&& f) {
  f();
  const double start = seconds();
  for ([[maybe_unused]] auto _ : state) {
    f();
    benchmark::ClobberMemory();
  }
  return (seconds() - start) / static_cast<double>(state.iterations());
}

/// Reports GFLOP/s, and its ratio to the peak, which is measured in the same run with the same number of threads.
inline void count_flops(benchmark::State& state, double time, double flops, const Threads& threads) {
  state.counters["GFLOP/s"] = flops / time * 1e-9;
  state.counters["of_peak"] = flops / time / peak(threads);
}

/// Reports GB/s. For comparison, peak_bench.cpp measures the memory bandwidth.
inline void count_bytes(benchmark::State& state, double time, double bytes) { state.counters["GB/s"] = bytes / time * 1e-9; }

inline void count_tokens(benchmark::State& state, double time, double tokens) { state.counters["tokens/s"] = tokens / time; }

/// The thread count, which is the benchmark argument `state.range(argument)`.
inline Threads threads_of(const benchmark::State& state, std::size_t argument) {
  return Threads{static_cast<int>(state.range(argument))};
}

}  // namespace bench
