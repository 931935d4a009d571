#include "gated/models/text_transformer.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gated/core/summary.hpp"
#include "gated/models/prepare.hpp"
#include "gated/models/text_presets.hpp"
#include "tests/layers/literal_attention.hpp"

namespace gated::text_transformer_test {
namespace {

using test::near;
using test::random_layer;
using test::refuses;
using test::same_bits;

/// The number of parameters with `depth` layers. HollowWeights keeps the weights out of memory.
Index count_at(TextTransformerConfig config, Index depth) {
  const detail::HollowWeights hollow;
  config.trunk.depth = depth;
  return parameter_count(TextTransformer<float>(config));
}

/// The number of parameters, extrapolated from two and three layers, because the largest model would need 29 GB.
Index count(const TextTransformerConfig& config) {
  const Index two = count_at(config, 2);
  return two + (config.trunk.depth - 2) * (count_at(config, 3) - two);
}

TEST(DecoderPresets, HaveThePublishedParameterCounts) {
  namespace presets = decoder_presets;
  EXPECT_EQ(count(presets::stories_260k()), 260'032);
  EXPECT_EQ(count(presets::stories_15m()), 15'191'712);
  EXPECT_EQ(count(presets::stories_42m()), 41'689'600);
  EXPECT_EQ(count(presets::stories_110m()), 109'529'856);
  EXPECT_EQ(count(presets::smollm2_135m()), 134'515'008);
  EXPECT_EQ(count(presets::smollm2_360m()), 361'821'120);
  EXPECT_EQ(count(presets::qwen2_5_0_5b()), 494'032'768);
  EXPECT_EQ(count(presets::qwen3_0_6b()), 596'049'920);
  if (sizeof(Index) > 4) {
    EXPECT_EQ(count(presets::tinyllama_1_1b()), 1'100'048'384);
    EXPECT_EQ(count(presets::mistral_7b()), static_cast<Index>(7'241'732'096));
  }
}

TEST(EncoderPresets, HaveThePublishedParameterCounts) {
  namespace presets = encoder_presets;
  const auto expect = [](TextTransformerConfig (*preset)(EncoderHead), Index body, Index with_head) {
    EXPECT_EQ(count(preset(EncoderHead::none)), body);
    EXPECT_EQ(count(preset(EncoderHead::masked_words)), with_head);
  };
  expect(presets::modernbert_base, 149'014'272, 149'655'232);
  expect(presets::modernbert_large, 394'781'696, 395'881'664);
  expect(presets::ettin_17m, 16'797'440, 16'913'600);
  expect(presets::ettin_32m, 31'883'136, 32'081'344);
  expect(presets::ettin_68m, 68'144'640, 68'457'664);
  expect(presets::ettin_150m, 149'014'272, 149'655'232);
  expect(presets::ettin_400m, 394'781'696, 395'881'664);
  if (sizeof(Index) > 4) {
    expect(presets::ettin_1b, 1'028'050'688, 1'031'314'112);
  }
  EXPECT_EQ(count(presets::granite_embedding_small_r2()), 47'662'464);
}

TEST(EncoderPresets, EveryThirdLayerIsGlobalAndTheFirstHasNoNorm) {
  const TextTransformer<float> model(
      transformer_encoder({.vocabulary = 7, .channels = 8, .hidden = 4, .depth = 5, .heads = 2}));
  for (std::size_t i = 0; i < 5; ++i) {
    const auto& branch = model.trunk.blocks[i].tokens;
    const bool global = i % 3 == 0;
    EXPECT_EQ(branch.norm.form, i == 0 ? NormForm::none : NormForm::layer_norm_no_bias) << i;
    EXPECT_EQ(branch.mixer.config.reach(), global ? unlimited_reach : 64) << i;
    EXPECT_EQ(branch.mixer.config.rotary_base, global ? 160000 : 10000) << i;
  }
}

DecoderSizes small_decoder() {
  return {.vocabulary = 11, .channels = 12, .hidden = 20, .depth = 2, .heads = 4, .key_value_heads = 2, .head_width = 6};
}

EncoderSizes small_encoder() { return {.vocabulary = 23, .channels = 8, .hidden = 10, .depth = 4, .heads = 2, .window = 4}; }

std::vector<Index> random_ids(Index number, Index vocabulary, std::uint64_t seed) {
  Random random(seed);
  std::vector<Index> ids(static_cast<std::size_t>(number));
  for (Index& id : ids) {
    id = static_cast<Index>(random.uniform() * static_cast<double>(vocabulary));
  }
  return ids;
}

TEST(TextTransformer, AWindowBoundsTheMemoryOfAStream) {
  DecoderSizes sizes = small_decoder();
  sizes.window = 9;
  const auto model = random_layer<TextTransformer<float>>(transformer_decoder(sizes));
  const auto ids = random_ids(100, 11, 1);
  Workspace<float> workspace;
  const Matrix<float> whole = model.forward(ids, Sequences::single(100), workspace);
  auto state = model.start();  // without a capacity
  EXPECT_EQ(state.capacity(), State<float>::unlimited);
  EXPECT_EQ(state.bytes(), 2 * 2 * 11 * 12 * sizeof(float))
      << "per layer, 11 rows of keys and of values: 8 within reach and 3 more";
  Matrix<float> logits(100, 11);
  for (Index done = 0, step = 1; done < 100; done += step, step = std::min<Index>(2 * step, 100 - done)) {
    auto copy = state;
    model.extend(Tokens(ids).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(step)), state,
                 logits.middleRows(done, step), workspace);
    Matrix<float> first(1, 11);
    model.step(ids[static_cast<std::size_t>(done)], copy, first, workspace);
    EXPECT_TRUE(same_bits(first, Matrix<float>(logits.row(done)))) << "a copied state has equal logits, at " << done;
  }
  EXPECT_TRUE(same_bits(logits, whole));
  EXPECT_TRUE(refuses<ArgumentError>([&] { state.rewind(50); }, "keeps only the last tokens, so it cannot"));
}

TEST(TextTransformer, RewindsUntilTheWindowMoves) {
  DecoderSizes sizes = small_decoder();
  sizes.window = 9;
  const auto model = random_layer<TextTransformer<float>>(transformer_decoder(sizes));
  const auto ids = random_ids(11, 11, 1);
  Workspace<float> workspace;
  Matrix<float> once(11, 11), again(6, 11);
  auto state = model.start();
  model.extend(ids, state, once, workspace);
  state.rewind(5);
  model.extend(Tokens(ids).subspan(5), state, again, workspace);
  EXPECT_TRUE(same_bits(again, Matrix<float>(once.bottomRows(6))));
}

TEST(TextTransformer, GlobalLayersNeedACapacity) {
  DecoderSizes sizes = small_decoder();
  sizes.window = 5;
  sizes.windowed = {false, true};
  const auto model = random_layer<TextTransformer<float>>(transformer_decoder(sizes));
  EXPECT_TRUE(refuses<ArgumentError>([&] { (void)model.start(); }, "start(capacity)"));
  EXPECT_EQ(model.start(40).bytes(), 2 * (40 + 6) * 12 * sizeof(float));
}

TEST(TextTransformer, DecodesWithQuantizedWeights) {
  const auto model = random_layer<TextTransformer<float>>(transformer_decoder(small_decoder()));
  const auto ids = random_ids(9, 11, 2);
  for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8}) {
    auto rounded = model;
    round_weights(rounded, format);
    const auto prepared = prepare(model, format);
    Workspace<float> workspace, plain;
    workspace.use(prepared);
    auto state = model.start(9);
    Matrix<float> logits(9, 11);
    model.extend(ids, state, logits, workspace);
    EXPECT_TRUE(same_bits(logits, rounded.forward(ids, Sequences::single(9), plain)));
  }
}

TEST(TextTransformer, EmbeddingsDoNotDependOnOtherTexts) {
  const std::vector<Index> lengths{30, 1, 7, 150, 2, 64};
  const Sequences sequences = Sequences::of_lengths(lengths);
  const auto ids = random_ids(sequences.total(), 23, 3);
  for (const TextPooling pooling : {TextPooling::first, TextPooling::mean}) {
    EncoderSizes sizes = small_encoder();
    sizes.pooling = pooling;
    sizes.unit_length = true;
    const auto model = random_layer<TextTransformer<float>>(transformer_encoder(sizes));
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
      SCOPED_TRACE(testing::Message() << name_of(pooling) << ", " << name_of(format));
      auto rounded = model;
      round_weights(rounded, format);
      const auto prepared = prepare(model, format);
      Workspace<float> workspace(Threads{2}), plain;
      workspace.use(prepared);
      const Matrix<float> together = model.pooled(ids, sequences, workspace);
      for (Index b = 0; b < sequences.count(); ++b) {
        const auto text = Tokens(ids).subspan(static_cast<std::size_t>(sequences.offset(b)),
                                              static_cast<std::size_t>(lengths[static_cast<std::size_t>(b)]));
        const Matrix<float> alone = rounded.pooled(text, Sequences::single(std::ssize(text)), plain);
        EXPECT_TRUE(same_bits(Matrix<float>(together.row(b)), alone));
        EXPECT_NEAR(together.row(b).norm(), 1, 1e-6);
      }
    }
  }
}

TEST(TextTransformer, PoolsTheFirstTokenOrTheMean) {
  EncoderSizes sizes = small_encoder();
  auto model = random_layer<TextTransformer<double>>(transformer_encoder(sizes));
  const auto sequences = Sequences::of_lengths({5, 3});
  const auto ids = random_ids(8, 23, 3);
  Workspace<double> workspace;
  const Matrix<double> hidden = model.forward(ids, sequences, workspace);
  Matrix<double> first(2, 8), mean(2, 8);
  first << hidden.row(0), hidden.row(5);
  mean << hidden.topRows(5).colwise().mean(), hidden.bottomRows(3).colwise().mean();
  EXPECT_TRUE(near(model.pooled(ids, sequences, workspace), first));
  model.config.pooling = TextPooling::mean;
  EXPECT_TRUE(near(model.pooled(ids, sequences, workspace), mean));
}

TEST(TextTransformer, RefusesToPoolAStream) {
  const auto model = random_layer<TextTransformer<float>>(transformer_decoder(small_decoder()));
  const auto ids = random_ids(1, 11, 1);
  Workspace<float> workspace;
  const auto frame = workspace.frame();
  auto state = model.start(4);
  Stream<float> run(workspace, state, 1);
  EXPECT_TRUE(refuses<ArgumentError>([&] { model.apply_pooled(run, ids, {}); }, "Use pooled()"));
}

TEST(TextTransformer, HooksSeePooledModelsByTheSamePaths) {
  const auto model = random_layer<TextTransformer<double>>(transformer_encoder(small_encoder()));
  const auto ids = random_ids(5, 23, 3);
  std::set<std::string> pooled, whole;
  const auto seen_by = [](std::set<std::string>& paths) {
    return [&paths](const std::string& path, const ConstView<double>&) { paths.insert(path); };
  };
  Workspace<double> workspace;
  workspace.set_hook(seen_by(pooled));
  model.pooled(ids, Sequences::single(5), workspace);
  workspace.set_hook(seen_by(whole));
  model.forward(ids, Sequences::single(5), workspace);
  EXPECT_TRUE(pooled.contains("trunk.blocks.1.channels.mixer.proj_out"));
  pooled.insert("");  // the whole model, which forward() shows
  EXPECT_EQ(pooled, whole);
}

TEST(TextTransformer, RefusesNegativeWindowsAndPeriods) {
  EncoderSizes sizes = small_encoder();
  sizes.window = -1;
  EXPECT_TRUE(refuses<ArgumentError>([&] { transformer_encoder(sizes); }, "window = -1 must not be negative"));
  sizes = {.global_every = 0};
  EXPECT_TRUE(refuses<ArgumentError>([&] { transformer_encoder(sizes); }, "global_every = 0 must be positive"));
}

TEST(Stack, RefusesBlocksThatTakeOtherLengths) {
  using Block = GmlpBlock<float>;
  const Block::Config exact{.length = 6, .channels = 4, .hidden = 8};
  Block::Config slice = exact;
  slice.length_policy = LengthPolicy::slice;
  EXPECT_TRUE(refuses<ArgumentError>(
      [&] {
        Stack<Block> model({.depth = 2, .block = slice, .others = {exact}, .kinds = {0, 1}});
      },
      "block 1 differs from block 0 in channels, causality, length"));
}

TEST(Stack, RefusesUnknownOrMismatchedBlockKinds) {
  TextTransformerConfig config = transformer_decoder(small_decoder());
  config.trunk.kinds = {0, 1};
  EXPECT_TRUE(refuses<ArgumentError>([&] { TextTransformer<float> model(config); }, "Stack: kinds contains 1, expected 0 … 0"));
  config.trunk.kinds = {0, 1};
  config.trunk.others = {config.trunk.block};
  config.trunk.others[0].token_mixer.causal = false;
  EXPECT_TRUE(refuses<ArgumentError>([&] { TextTransformer<float> model(config); },
                                     "block 1 differs from block 0 in channels, causality"));
  config.trunk.others = {config.trunk.block};
  config.trunk.others[0].drop_path = 0.5;
  EXPECT_TRUE(refuses<ArgumentError>([&] { TextTransformer<float> model(config); },
                                     "Stack: block 1 has drop_path = 0.5, expected 0, that of"));
}

}  // namespace
}  // namespace gated::text_transformer_test
