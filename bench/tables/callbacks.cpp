#include <algorithm>
#include <vector>

#include "gated/models/denoise_stream.hpp"
#include "tables.hpp"

namespace bench {

namespace {

/// The sorted times of `count` calls of `f`.
template <class F>
std::vector<double> times_of(Index count, F f) {
  std::vector<double> times(static_cast<std::size_t>(count));
  for (double& time : times) {
    const double start = seconds();
    f();
    time = seconds() - start;
  }
  std::sort(times.begin(), times.end());
  return times;
}

void print(const char* name, const std::vector<double>& sorted) {
  const double median = sorted[sorted.size() / 2];
  print_row("callbacks", name, 0, "median µs", 1e6 * median);
  print_row("callbacks", name, 0, "99.9 % µs", 1e6 * sorted[sorted.size() - 1 - sorted.size() / 1000]);
  print_row("callbacks", name, 0, "slowest µs", 1e6 * sorted.back());
  print_row("callbacks", name, 0, "slowest / median", sorted.back() / median);
}

}  // namespace

void table_of_callbacks(const TableOptions& options) {
  const Index count = options.quick ? 10 : 1'000'000;
  gated::Random random(1);
  const gated::SpeechDenoiser<float> model({.blocks = {.depth = 6, .block = {.channels = 128, .inner = 96, .causal = true}}},
                                           random);
  gated::DenoiseStream<float> stream(model);
  std::vector<float> block(static_cast<std::size_t>(model.config.hop));
  for (float& sample : block) {
    sample = static_cast<float>(0.1 * random.normal());
  }
  stream.process(block, block);
  const auto callbacks = times_of(count, [&] { stream.process(block, block); });
  print("a denoiser hop (10 ms of sound)", callbacks);
  // A loop of the same duration that touches no memory shows the machine's own interruptions.
  volatile double sink = 0;
  const auto spin = [&](Index turns) {
    double x = 1;
    for (Index i = 0; i < turns; ++i) {
      x = 1 / x + 0.5;
    }
    sink = x;
  };
  const double one = seconds_per_call(0.01, [&] { spin(1000); }) / 1000;
  const auto turns = static_cast<Index>(callbacks[callbacks.size() / 2] / one);
  print("an empty loop of the same length", times_of(count, [&] { spin(turns); }));
}

}  // namespace bench
