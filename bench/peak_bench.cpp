/// The machine's peaks: the reference for all other rows of gated_bench.

#include <vector>

#include "counters.hpp"

namespace bench {

namespace {

/// Multiply-adds alone, without memory accesses.
template <class T>
void multiply_adds(benchmark::State& state) {
  const Threads threads = threads_of(state, 0);
  double sum = 0;
  for ([[maybe_unused]] auto _ : state) {
    sum += multiply_add_rate<T>(threads);
  }
  state.counters["GFLOP/s"] = sum / static_cast<double>(state.iterations()) * 1e-9;
  state.counters["of_peak"] = sum / static_cast<double>(state.iterations()) / peak<T>(threads);
}

constexpr Index array_size = Index{1} << 26;  // floats: 256 MiB, more than the caches hold
constexpr Index task_size = Index{1} << 18;

/// Reads an array from memory.
void read(benchmark::State& state) {
  const Threads threads = threads_of(state, 0);
  const std::vector<float> from(static_cast<std::size_t>(array_size), 1.0f);
  std::vector<float> sums(static_cast<std::size_t>(array_size / task_size));
  const double time = run(state, [&] {
    gated::parallel_for(threads, array_size / task_size, [&](Index task, Index) {
      using V = gated::Simd<float>;
      V parts[4] = {V(0.0f), V(0.0f), V(0.0f), V(0.0f)};
      const float* const x = from.data() + task * task_size;
      for (Index i = 0; i < task_size; i += 4 * V::width) {
        GATED_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          parts[k] = parts[k] + V::load(x + i + static_cast<Index>(k) * V::width);
        }
      }
      sums[static_cast<std::size_t>(task)] = (parts[0] + parts[1] + (parts[2] + parts[3])).sum();
    });
  });
  benchmark::DoNotOptimize(sums.data());
  count_bytes(state, time, static_cast<double>(array_size) * sizeof(float));
}

/// a ← b + 3 c on arrays in memory: two are read and one is written.
void triad(benchmark::State& state) {
  const Threads threads = threads_of(state, 0);
  std::vector<float> a(static_cast<std::size_t>(array_size), 1.0f), b = a, c = a;
  const double time = run(state, [&] {
    gated::parallel_for(threads, array_size / task_size, [&](Index task, Index) {
      gated::for_each_vector<float>(task_size, [&](Index i, Index) {
        using V = gated::Simd<float>;
        const Index at = task * task_size + i;
        fma(V(3.0f), V::load(c.data() + at), V::load(b.data() + at)).store(a.data() + at);
      });
    });
  });
  count_bytes(state, time, 3.0 * static_cast<double>(array_size) * sizeof(float));
}

/// The overhead of a parallel loop: one empty task per thread. If the processors share no cache, the loop, like every read of
/// data written by another processor, takes several times as long.
void empty_loop(benchmark::State& state) {
  const Threads threads = threads_of(state, 0);
  run(state, [&] { gated::parallel_for(threads, threads.count(), [](Index, Index) { benchmark::ClobberMemory(); }); });
}

void on_each_thread_count(benchmark::internal::Benchmark* b) {
  b->ArgName("threads")->ArgsProduct({thread_counts()})->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_TEMPLATE(multiply_adds, float)->Name("peak/multiply_adds/float")->Apply(on_each_thread_count);
BENCHMARK_TEMPLATE(multiply_adds, double)->Name("peak/multiply_adds/double")->Apply(on_each_thread_count);
BENCHMARK(read)->Name("peak/memory_read")->Apply(on_each_thread_count);
BENCHMARK(triad)->Name("peak/memory_triad")->Apply(on_each_thread_count);
BENCHMARK(empty_loop)->Name("peak/empty_loop")->Apply(on_each_thread_count)->Unit(benchmark::kMicrosecond);

}  // namespace

}  // namespace bench
