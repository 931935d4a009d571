/// One token at a time. A step computes little and reads every weight, so that memory decides.

#include <map>

#include "counters.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"

namespace bench {

namespace {

using gated::Matrix;
using gated::Workspace;

constexpr Index channels = 512, depth = 4;
constexpr Index steps = 256;  // a whole chunk of FLASH, so that each step of the cycle counts alike

/// The state of `model` after `tokens` tokens, which went in many at a time.
template <class Model>
auto state_after(const Model& model, Index tokens) {
  Workspace<float> workspace(Threads{most_threads()});
  const Matrix<float> x = Matrix<float>::Random(4096, channels);
  Matrix<float> y = x;
  auto state = model.start();
  for (Index done = 0; done < tokens; done += x.rows()) {
    const Index rows = std::min(x.rows(), tokens - done);
    model.extend(x.topRows(rows), state, y.topRows(rows), workspace);
  }
  return state;
}

/// Times `steps` tokens after position `state.range(0)`, each time from a copy of the same state.
template <class Model, class State>
void stream(benchmark::State& bench_state, const Model& model, const State& start) {
  const Threads threads = threads_of(bench_state, 1);
  Workspace<float> workspace(threads);
  const auto prepared = gated::prepare(model);
  workspace.use(prepared);
  const Matrix<float> x = Matrix<float>::Random(steps, channels);
  Matrix<float> y = x;
  double sum = 0;
  for ([[maybe_unused]] auto _ : bench_state) {
    State state = start;
    const double begin = seconds();
    for (Index i = 0; i < steps; ++i) {
      model.extend(x.middleRows(i, 1), state, y.middleRows(i, 1), workspace);
    }
    const double time = seconds() - begin;
    bench_state.SetIterationTime(time);
    sum += time;
  }
  const double time = sum / static_cast<double>(bench_state.iterations() * steps);
  count_tokens(bench_state, time, 1);
  bench_state.counters["us/token"] = time * 1e6;
  count_bytes(bench_state, time, static_cast<double>(gated::parameter_count(model)) * sizeof(float));
  bench_state.counters["state MB"] = static_cast<double>(start.bytes()) * 1e-6;
}

void flash(benchmark::State& state) {
  static gated::Random random(1);
  static const gated::Flash<float> model({.depth = depth, .layer = gated::flash_presets::lucidrains(channels)}, random);
  static std::map<Index, gated::FlashState<float>> known;  // a benchmark is called several times
  auto start = known.find(state.range(0));
  if (start == known.end()) {
    start = known.emplace(state.range(0), state_after(model, state.range(0))).first;
  }
  stream(state, model, start->second);
}

void gmlp(benchmark::State& state, gated::SpatialForm form) {
  gated::Random random(1);
  const gated::Gmlp<float> model({.length = state.range(0) + steps,
                                  .channels = channels,
                                  .hidden = 6 * channels,
                                  .depth = depth,
                                  .spatial = form,
                                  .causal = true},
                                 random);
  stream(state, model, state_after(model, state.range(0)));
}

void at(benchmark::internal::Benchmark* b, std::vector<std::int64_t> positions) {
  b->ArgNames({"position", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({std::move(positions), thread_counts()});
}
void at_any_position(benchmark::internal::Benchmark* b) { at(b, {0, 1000, 65536}); }
void at_first_positions(benchmark::internal::Benchmark* b) { at(b, {0, 1792}); }

BENCHMARK(flash)->Name("streaming/flash_256_tokens")->Apply(at_any_position);
BENCHMARK_CAPTURE(gmlp, dense, gated::SpatialForm::dense)->Name("streaming/gmlp_256_tokens")->Apply(at_first_positions);
BENCHMARK_CAPTURE(gmlp, toeplitz, gated::SpatialForm::toeplitz)
    ->Name("streaming/gmlp_toeplitz_256_tokens")
    ->Apply(at_first_positions);

}  // namespace

}  // namespace bench
