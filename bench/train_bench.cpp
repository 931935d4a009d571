/// Training steps, and what they are made of.

#include "counters.hpp"
#include "training_step.hpp"

namespace bench {

namespace {

gated::GmlpLanguageModelConfig model_config() {
  return {
      .vocabulary = 256, .tied = false, .trunk = {.length = 256, .channels = 256, .hidden = 1024, .depth = 4, .causal = true}};
}

/// Forward, back, AdamW.
void step(benchmark::State& state, bool recompute) {
  gated::Random random(1);
  const auto config = model_config();
  TrainingStep step({}, TrainingStep::Model(config, random), gated::Sequences::uniform(state.range(0), config.trunk.length),
                    threads_of(state, 1), {.recompute = recompute});
  for (Index i = 0; i < step.sequences.total(); ++i) {
    step.tokens.push_back(i * 7 % config.vocabulary);
    step.targets.push_back((i + 1) * 7 % config.vocabulary);
  }
  const double time = run(state, [&] { step(); });
  count_flops(state, time, step.flops(), threads_of(state, 1));
  count_tokens(state, time, static_cast<double>(step.tokens.size()));
  state.counters["tape MB"] = static_cast<double>(step.tape.bytes()) * 1e-6;
}

/// The update alone: reads four models and writes three.
void adamw(benchmark::State& state) {
  gated::Random random(1);
  TrainingStep::Model model(model_config(), random);
  const TrainingStep::Model gradient(model_config(), random);
  gated::AdamW<TrainingStep::Model> optimizer(model);
  const double time = run(state, [&] { optimizer.update(model, gradient, 1e-9, threads_of(state, 0)); });
  count_bytes(state, time, 7.0 * static_cast<double>(gated::parameter_count(model)) * sizeof(float));
}

void on_batches(benchmark::internal::Benchmark* b) {
  b->ArgNames({"batch", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({{1, 8}, thread_counts()});
}

BENCHMARK_CAPTURE(step, kept, false)->Name("train/gmlp_step")->Apply(on_batches);
BENCHMARK_CAPTURE(step, recomputed, true)->Name("train/gmlp_step_recompute")->Apply(on_batches);
BENCHMARK(adamw)
    ->Name("train/adamw")
    ->ArgName("threads")
    ->ArgsProduct({thread_counts()})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace bench
