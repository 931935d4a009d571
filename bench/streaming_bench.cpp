/// Token-by-token decoding. It is memory-bound: a step reads every weight and computes little.

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
using State = gated::State<float>;

constexpr Index channels = 512, depth = 4;
constexpr Index steps = 256;  // one chunk of FLASH, so each position in a chunk is timed once

/// The state of `model` after a prefill of `tokens` tokens.
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

/// The size in bytes of the weights that a step reads, without those that mix tokens.
template <class Model>
double weight_bytes(const Model& model) {
  std::size_t bytes = 0;
  gated::for_each_parameter(
      [&](const gated::ParameterInfo& info, auto values) {
        bytes += info.role == gated::Role::spatial || info.role == gated::Role::constant ? 0 : values.size_bytes();
      },
      model);
  return static_cast<double>(bytes);
}

/// For layers that read all tokens so far: the mean number of tokens read per step, over the `steps` steps after `position`.
double seen_after(Index position) { return static_cast<double>(position) + static_cast<double>(steps + 1) / 2; }

/// Times `steps` steps of `model`, from a copy of the state `start`. A step reads weight_bytes() bytes and
/// `state_floats` floats; in a gMLP, these include a row of W.
template <class Model>
void stream(benchmark::State& bench_state, const Model& model, const State& start, double state_floats) {
  const Threads threads = threads_of(bench_state, 1);
  Workspace<float> workspace(threads);
  const auto prepared = gated::prepare(model);
  workspace.use(prepared);
  const Matrix<float> x = Matrix<float>::Random(steps, channels);
  Matrix<float> y = x;
  State state = start;
  const auto pass = [&] {
    state = start;
    const double begin = seconds();
    for (Index i = 0; i < steps; ++i) {
      model.extend(x.middleRows(i, 1), state, y.middleRows(i, 1), workspace);
    }
    return seconds() - begin;
  };
  pass();  // warm-up
  double sum = 0;
  for ([[maybe_unused]] auto _ : bench_state) {
    const double time = pass();
    bench_state.SetIterationTime(time);
    sum += time;
  }
  const double time = sum / static_cast<double>(bench_state.iterations() * steps);
  count_tokens(bench_state, time, 1);
  bench_state.counters["us/token"] = time * 1e6;
  count_bytes(bench_state, time, weight_bytes(model) + state_floats * sizeof(float));
  bench_state.counters["state MB"] = static_cast<double>(start.bytes()) * 1e-6;
}

/// A step reads KᵀV of the finished chunks, if any, and on average half of the current chunk's keys and values.
void flash(benchmark::State& state) {
  static gated::Random random(1);
  static const gated::Flash<float> model({.depth = depth, .block = gated::flash_presets::lucidrains({.channels = channels})},
                                         random);
  static std::map<Index, State> known;  // kept, because Google Benchmark calls this function several times
  auto start = known.find(state.range(0));
  if (start == known.end()) {
    start = known.emplace(state.range(0), state_after(model, state.range(0))).first;
  }
  const auto& layer = model.config.block;
  const auto s = static_cast<double>(layer.query_key), e = static_cast<double>(layer.value);
  const double memory = state.range(0) < layer.chunk ? 0 : s * e;
  stream(state, model, start->second, static_cast<double>(depth) * (memory + seen_after(0) * (s + e)));
}

/// A step reads a row of W and the gate inputs of all tokens so far.
void gmlp(benchmark::State& state, gated::SpatialForm form) {
  gated::Random random(1);
  const gated::Gmlp<float> model({.length = state.range(0) + steps,
                                  .channels = channels,
                                  .hidden = 6 * channels,
                                  .depth = depth,
                                  .spatial = form,
                                  .causal = true},
                                 random);
  const double columns = static_cast<double>(model.blocks.front().gate.out()) + 1;
  stream(state, model, state_after(model, state.range(0)), static_cast<double>(depth) * seen_after(state.range(0)) * columns);
}

/// A single layer. A step reads the keys and values of all tokens so far; they are zero here, which does not change the time.
void gau(benchmark::State& state) {
  gated::Random random(1);
  const Index position = state.range(0);
  auto config = gated::gau_presets::paper({.channels = channels, .max_length = position + steps});
  config.score_scale = gated::ScoreScale::max_length;
  config.causal = true;
  const gated::GatedAttentionUnit<float> layer(config, random);
  const double columns = static_cast<double>(config.query_key + config.value);
  State start = layer.start(position + steps);
  start.skip(position);
  stream(state, layer, start, seen_after(position) * columns);
}

void at(benchmark::internal::Benchmark* b, std::vector<std::int64_t> positions) {
  b->ArgNames({"position", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({std::move(positions), thread_counts()});
}
void at_any_position(benchmark::internal::Benchmark* b) { at(b, {0, 1000, 65536}); }
void at_first_positions(benchmark::internal::Benchmark* b) { at(b, {0, 1792}); }

BENCHMARK(flash)->Name("streaming/flash_256_tokens")->Apply(at_any_position);
BENCHMARK(gau)->Name("streaming/gau_256_tokens")->Apply(at_first_positions);
BENCHMARK_CAPTURE(gmlp, dense, gated::SpatialForm::dense)->Name("streaming/gmlp_256_tokens")->Apply(at_first_positions);
BENCHMARK_CAPTURE(gmlp, toeplitz, gated::SpatialForm::toeplitz)
    ->Name("streaming/gmlp_toeplitz_256_tokens")
    ->Apply(at_first_positions);

}  // namespace

}  // namespace bench
