/// Forward passes of whole models.

#include "counters.hpp"
#include "flops.hpp"
#include "works.hpp"

namespace bench {

namespace {

using gated::Matrix;
using gated::Sequences;
using gated::Workspace;

/// Times a trunk on `count` sequences of `length` tokens.
template <class Model>
void trunk(benchmark::State& state, const typename Model::Config& config, Index count, Index length, Index channels,
           Threads threads) {
  gated::Random random(1);
  const Model model(config, random);
  Matrix<float> x = Matrix<float>::Random(count * length, channels), y = x;
  Workspace<float> workspace(threads);
  const auto sequences = Sequences::uniform(count, length);
  const double time = run(state, [&] { model.forward(x, sequences, y, workspace); });
  count_flops(state, time, flops_of(model, count, length), threads);
  count_tokens(state, time, static_cast<double>(count * length));
  state.counters["scratch MB"] = static_cast<double>(workspace.bytes()) * 1e-6;
}

void gmlp(benchmark::State& state, const gated::GmlpConfig& config) {
  trunk<gated::Gmlp<float>>(state, config, state.range(0), config.length, config.channels, threads_of(state, 1));
}

void flash(benchmark::State& state, bool causal) {
  const auto config = flash_trunk(causal);
  trunk<gated::Flash<float>>(state, config, 1, state.range(0), config.block.channels, threads_of(state, 1));
}

/// Times an image classifier, from pixels to logits.
template <class Config>
void image_classifier(benchmark::State& state, const Config& config) {
  gated::Random random(1);
  const gated::ImageClassifierFor<Config, float> model(config, random);
  const Matrix<float> images = Matrix<float>::Random(state.range(0), 3 * 224 * 224);
  Matrix<float> logits(images.rows(), model.out());
  Workspace<float> workspace(threads_of(state, 1));
  const double time = run(state, [&] { model.forward(images, logits, workspace); });
  count_flops(state, time, flops_of(model, images.rows()), workspace.threads());
  state.counters["images/s"] = static_cast<double>(images.rows()) / time;
}

/// Times a forecaster, from series to forecasts.
void forecaster(benchmark::State& state) {
  gated::Random random(1);
  const gated::TinyTimeMixer<float> model(gated::ttm_512_96(), random);
  const Matrix<float> series = Matrix<float>::Random(state.range(0), model.in());
  Matrix<float> forecasts(series.rows(), model.out());
  Workspace<float> workspace(threads_of(state, 1));
  const auto items = Sequences::single(series.rows());
  const double time = run(state, [&] { model.forward(series, items, forecasts, workspace); });
  count_flops(state, time, flops_of(model, 1, series.rows()), workspace.threads());
  state.counters["series/s"] = static_cast<double>(series.rows()) / time;
}

/// Times a model on `count` texts of `length` tokens, from tokens to logits or hidden states.
template <class Model>
void text(benchmark::State& state, const typename Model::Config& config, Index count, Index length, Threads threads) {
  gated::Random random(1);
  const Model model(config, random);
  std::vector<Index> tokens;
  for (Index i = 0; i < count * length; ++i) {
    tokens.push_back(1 + i * 7 % (config.vocabulary - 1));  // 0 is padding in some models
  }
  Workspace<float> workspace(threads);
  const auto sequences = Sequences::uniform(count, length);
  Matrix<float> output = model.forward(tokens, sequences, workspace);
  const double time = run(state, [&] { model.forward(tokens, sequences, output, workspace); });
  count_flops(state, time, flops_of(model, count, length), threads);
  count_tokens(state, time, static_cast<double>(tokens.size()));
}

void gmlp_text(benchmark::State& state) {
  const gated::GmlpLanguageModelConfig config{.vocabulary = 32000, .trunk = gmlp_nlp()};
  text<gated::GmlpLanguageModel<float>>(state, config, state.range(0), config.trunk.length, threads_of(state, 1));
}

void flash_text(benchmark::State& state) {
  const gated::FlashLanguageModelConfig config{
      .vocabulary = 32000, .position = gated::PositionForm::sinusoid, .trunk = flash_trunk(true)};
  text<gated::FlashLanguageModel<float>>(state, config, 1, state.range(0), threads_of(state, 1));
}

/// GAU-α in its published size, from tokens to hidden states.
void gau_encoder(benchmark::State& state) {
  const auto config =
      gated::gau_presets::gau_alpha_encoder({.vocabulary = 12000}, gated::gau_presets::gau_alpha({.channels = 768}));
  text<gated::GauEncoder<float>>(state, config, 1, state.range(0), threads_of(state, 1));
}

void on_batches(benchmark::internal::Benchmark* b) {
  b->ArgNames({"batch", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({{1, 8}, thread_counts()});
}

void on_series(benchmark::internal::Benchmark* b) {
  b->ArgNames({"series", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({{1, 64}, thread_counts()});
}

void on_tokens(benchmark::internal::Benchmark* b, std::int64_t tokens) {
  b->ArgNames({"tokens", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({{tokens}, thread_counts()});
}
void on_texts(benchmark::internal::Benchmark* b) { on_tokens(b, 512); }
void on_long_texts(benchmark::internal::Benchmark* b) { on_tokens(b, 4096); }

gated::GmlpConfig gmlp_ti16() { return {.length = 196, .channels = 128, .hidden = 768, .depth = 30}; }

gated::GmlpConfig amlp_nlp() {
  auto config = gmlp_nlp();
  config.attention_width = 64;
  return config;
}

BENCHMARK_CAPTURE(gmlp, ti16, gmlp_ti16())->Name("models/gmlp_ti16_trunk")->Apply(on_batches);
BENCHMARK_CAPTURE(gmlp, s16, gmlp_s16())->Name("models/gmlp_s16_trunk")->Apply(on_batches);
BENCHMARK_CAPTURE(gmlp, nlp, gmlp_nlp())->Name("models/gmlp_nlp_trunk")->Apply(on_batches);
BENCHMARK_CAPTURE(gmlp, amlp, amlp_nlp())->Name("models/amlp_nlp_trunk")->Apply(on_batches);
BENCHMARK_CAPTURE(image_classifier, gmlp, gated::gmlp_s16_224())->Name("models/gmlp_s16_224")->Apply(on_batches);
BENCHMARK_CAPTURE(image_classifier, mixer, gated::mixer_b16_224())->Name("models/mixer_b16_224")->Apply(on_batches);
BENCHMARK_CAPTURE(image_classifier, resmlp, gated::resmlp_24_224())->Name("models/resmlp_24_224")->Apply(on_batches);
BENCHMARK(forecaster)->Name("models/ttm_512_96")->Apply(on_series);
BENCHMARK(gmlp_text)->Name("models/gmlp_language_model")->Apply(on_batches);
BENCHMARK(flash_text)->Name("models/flash_language_model")->Apply(on_long_texts);
BENCHMARK(gau_encoder)->Name("models/gau_alpha_encoder")->Apply(on_texts);
BENCHMARK_CAPTURE(flash, all, false)->Name("models/flash_trunk")->Apply(on_long_texts);
BENCHMARK_CAPTURE(flash, causal, true)->Name("models/flash_trunk_causal")->Apply(on_long_texts);

}  // namespace

}  // namespace bench
