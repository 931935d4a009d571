/// Forward passes of single layers.

#include "counters.hpp"
#include "flops.hpp"
#include "gated/models/gau_presets.hpp"

namespace bench {

namespace {

using gated::Matrix;
using gated::Sequences;
using gated::Workspace;

/// Times `layer.forward()` on `count` sequences of `length` tokens. `state.range(threads)` is the thread count.
template <class Layer>
void forward(benchmark::State& state, const Layer& layer, Index count, Index length, Index in, Index out, double flops,
             std::size_t threads) {
  const Matrix<float> x = Matrix<float>::Random(count * length, in);
  Matrix<float> y(count * length, out);
  Workspace<float> workspace(threads_of(state, threads));
  const auto sequences = Sequences::uniform(count, length);
  const double time = run(state, [&] { layer.forward(x, sequences, y, workspace); });
  count_flops(state, time, flops, workspace.threads());
  count_tokens(state, time, static_cast<double>(count * length));
}

// --- gMLP ---

/// Arguments: sequences, tokens, channels, hidden width, threads.
gated::GmlpConfig gmlp_config(const benchmark::State& state) {
  return {.length = state.range(1), .channels = state.range(2), .hidden = state.range(3)};
}

void gmlp_block(benchmark::State& state, bool causal, Index attention) {
  auto config = gmlp_config(state);
  config.causal = causal;
  config.attention_width = attention;
  gated::Random random(1);
  gated::GmlpBlock<float> block(config);
  block.initialize(random);
  forward(state, block, state.range(0), config.length, config.channels, config.channels,
          flops_of(block, state.range(0), config.length), 4);
}

void spatial_gating_unit(benchmark::State& state, gated::SpatialForm form) {
  const auto config = gmlp_config(state);
  gated::Random random(1);
  gated::SpatialGatingUnit<float> gate({.channels = config.hidden, .spatial = {.length = config.length, .form = form}});
  gate.initialize(random);
  const double flops = spatial_flops(gate.out(), config.length, gate.proj.is_causal());
  forward(state, gate, state.range(0), config.length, config.hidden, gate.out(), static_cast<double>(state.range(0)) * flops,
          4);
}

void on_gmlp_sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"batch", "tokens", "channels", "hidden", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const auto threads : thread_counts()) {
    b->Args({1, 196, 256, 1536, threads});
    b->Args({8, 196, 256, 1536, threads});
    b->Args({1, 512, 512, 3072, threads});
  }
}

BENCHMARK_CAPTURE(gmlp_block, plain, false, 0)->Name("layers/gmlp_block")->Apply(on_gmlp_sizes);
BENCHMARK_CAPTURE(gmlp_block, causal, true, 0)->Name("layers/gmlp_block_causal")->Apply(on_gmlp_sizes);
BENCHMARK_CAPTURE(gmlp_block, attention, false, 64)->Name("layers/amlp_block")->Apply(on_gmlp_sizes);
BENCHMARK_CAPTURE(spatial_gating_unit, dense, gated::SpatialForm::dense)->Name("layers/gate_dense")->Apply(on_gmlp_sizes);
BENCHMARK_CAPTURE(spatial_gating_unit, toeplitz, gated::SpatialForm::toeplitz)
    ->Name("layers/gate_toeplitz")
    ->Apply(on_gmlp_sizes);
BENCHMARK_CAPTURE(spatial_gating_unit, scaled_toeplitz, gated::SpatialForm::scaled_toeplitz)
    ->Name("layers/gate_scaled_toeplitz")
    ->Apply(on_gmlp_sizes);

// --- Attention ---

/// Arguments: tokens, channels, threads.
template <class Layer>
void attention(benchmark::State& state, const typename Layer::Config& config) {
  gated::Random random(1);
  const Layer layer(config, random);
  forward(state, layer, 1, state.range(0), config.channels, config.channels, flops_of(layer, 1, state.range(0)), 2);
}

void gated_attention_unit(benchmark::State& state) {
  attention<gated::GatedAttentionUnit<float>>(state, gated::gau_presets::lucidrains({.channels = state.range(1)}));
}

void mixed_chunk_attention(benchmark::State& state, bool causal) {
  attention<gated::MixedChunkAttention<float>>(
      state, gated::flash_presets::lucidrains({.channels = state.range(1), .causal = causal}));
}

void transformer_block(benchmark::State& state) {
  attention<gated::TransformerBlock<float>>(state, {.channels = state.range(1), .token_mixer = {.heads = state.range(1) / 64}});
}

void on_texts(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tokens", "channels", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  b->ArgsProduct({{512, 4096}, {512}, thread_counts()});
}

void on_heads_and_texts(benchmark::internal::Benchmark* b) {
  on_texts(b);
  b->ArgsProduct({{17}, {256}, thread_counts()});
}

BENCHMARK(gated_attention_unit)->Name("layers/gau")->Apply(on_heads_and_texts);
BENCHMARK_CAPTURE(mixed_chunk_attention, all, false)->Name("layers/flash")->Apply(on_texts);
BENCHMARK_CAPTURE(mixed_chunk_attention, causal, true)->Name("layers/flash_causal")->Apply(on_texts);
BENCHMARK(transformer_block)->Name("layers/transformer_block")->Apply(on_texts);

}  // namespace

}  // namespace bench
