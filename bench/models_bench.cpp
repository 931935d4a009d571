/// Whole models, forward.

#include "counters.hpp"
#include "flops.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/presets.hpp"

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
  count_flops(state, time, flops_of(config, count, length), threads);
  count_tokens(state, time, static_cast<double>(count * length));
  state.counters["scratch MB"] = static_cast<double>(workspace.bytes()) * 1e-6;
}

void gmlp(benchmark::State& state, const gated::GmlpConfig& config) {
  trunk<gated::Gmlp<float>>(state, config, state.range(0), config.length, config.channels, threads_of(state, 1));
}

void flash(benchmark::State& state, bool causal) {
  const gated::FlashConfig config{.depth = 12, .layer = gated::flash_presets::lucidrains(512, 256, causal)};
  trunk<gated::Flash<float>>(state, config, 1, state.range(0), config.layer.channels, threads_of(state, 1));
}

/// Pixels to logits.
void image_classifier(benchmark::State& state) {
  gated::Random random(1);
  const gated::GmlpImageClassifier<float> model(gated::gmlp_s16_224(), random);
  const Matrix<float> images = Matrix<float>::Random(state.range(0), 3 * 224 * 224);
  Matrix<float> logits(images.rows(), model.out());
  Workspace<float> workspace(threads_of(state, 1));
  const double time = run(state, [&] { model.forward(images, logits, workspace); });
  state.counters["images/s"] = static_cast<double>(images.rows()) / time;
}

void on_batches(benchmark::internal::Benchmark* b) {
  b->ArgNames({"batch", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({{1, 8}, thread_counts()});
}

void on_long_texts(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tokens", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  b->ArgsProduct({{4096}, thread_counts()});
}

const gated::GmlpConfig tiny{.length = 196, .channels = 128, .hidden = 768, .depth = 30};
const gated::GmlpConfig small{.length = 196, .channels = 256, .hidden = 1536, .depth = 30};
const gated::GmlpConfig language{.length = 512, .channels = 512, .hidden = 3072, .depth = 8};

BENCHMARK_CAPTURE(gmlp, ti16, tiny)->Name("models/gmlp_ti16_trunk")->Apply(on_batches);
BENCHMARK_CAPTURE(gmlp, s16, small)->Name("models/gmlp_s16_trunk")->Apply(on_batches);
BENCHMARK_CAPTURE(gmlp, language, language)->Name("models/gmlp_nlp_trunk")->Apply(on_batches);
BENCHMARK(image_classifier)->Name("models/gmlp_s16_224")->Apply(on_batches);
BENCHMARK_CAPTURE(flash, all, false)->Name("models/flash_trunk")->Apply(on_long_texts);
BENCHMARK_CAPTURE(flash, causal, true)->Name("models/flash_trunk_causal")->Apply(on_long_texts);

}  // namespace

}  // namespace bench
