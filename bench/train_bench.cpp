/// Benchmarks of training steps and of the optimizer's update.

#include "counters.hpp"
#include "training_step.hpp"
#include "works.hpp"

namespace bench {

namespace {

/// Times a training step (forward pass, backward pass, AdamW) on texts of `length` tokens.
template <class Model>
void step(benchmark::State& state, const typename Model::Config& config, Index length, bool recompute) {
  gated::Random random(1);
  TrainingStep<Model> step({}, Model(config, random), gated::Sequences::uniform(state.range(0), length), threads_of(state, 1),
                           {.recompute = recompute});
  for (Index i = 0; i < step.sequences.total(); ++i) {
    step.tokens.push_back(i * 7 % config.vocabulary);
    step.targets.push_back((i + 1) * 7 % config.vocabulary);
  }
  const double time = run(state, [&] { step(); });
  count_flops(state, time, step.flops(), threads_of(state, 1));
  count_tokens(state, time, static_cast<double>(step.tokens.size()));
  state.counters["tape MB"] = static_cast<double>(step.tape.bytes()) * 1e-6;
}

void gmlp(benchmark::State& state, bool recompute) {
  const auto config = trained_gmlp();
  step<gated::GmlpLanguageModel<float>>(state, config, config.trunk.length, recompute);
}

/// A FLASH model of the gMLP's width, with about the gMLP's flops per token.
void flash(benchmark::State& state) {
  const gated::FlashLanguageModelConfig config{.vocabulary = 256,
                                               .position = gated::PositionForm::sinusoid,
                                               .trunk = {.depth = 4,
                                                         .block = gated::flash_presets::lucidrains({.channels = 256})}};
  step<gated::FlashLanguageModel<float>>(state, config, 1024, false);
}

void gau(benchmark::State& state) {
  const auto layer = gated::gau_presets::flash_quad_junnyu({.channels = 256});
  const auto config = gated::gau_presets::flash_quad_encoder({.vocabulary = 256, .depth = 4}, layer);
  step<gated::GauEncoder<float>>(state, config, 256, false);
}

/// The optimizer's update alone: reads four arrays of the model's size and writes three.
void adamw(benchmark::State& state) {
  using Model = gated::GmlpLanguageModel<float>;
  gated::Random random(1);
  Model model(trained_gmlp(), random);
  const Model gradient(trained_gmlp(), random);
  gated::AdamW<Model> optimizer(model);
  const double time = run(state, [&] { optimizer.update(model, gradient, 1e-9, threads_of(state, 0)); });
  count_bytes(state, time, 7.0 * static_cast<double>(gated::parameter_count(model)) * sizeof(float));
}

void on_batches(benchmark::internal::Benchmark* b) {
  b->ArgNames({"batch", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({{1, 8}, thread_counts()});
}

BENCHMARK_CAPTURE(gmlp, kept, false)->Name("train/gmlp_step")->Apply(on_batches);
BENCHMARK_CAPTURE(gmlp, recomputed, true)->Name("train/gmlp_step_recompute")->Apply(on_batches);
BENCHMARK(flash)->Name("train/flash_step")->Apply(on_batches);
BENCHMARK(gau)->Name("train/gau_encoder_step")->Apply(on_batches);
BENCHMARK(adamw)
    ->Name("train/adamw")
    ->ArgName("threads")
    ->ArgsProduct({thread_counts()})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace bench
