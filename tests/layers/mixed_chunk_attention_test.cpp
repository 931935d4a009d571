#include "gated/layers/mixed_chunk_attention.hpp"

#include "gated/models/gau_presets.hpp"
#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::mixed_chunk_attention_test {
namespace {

using test::is_untouched;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::refuses;
using test::run;
using test::same_bits;
using test::settings_of;
using test::untouched;
using test::wide;

constexpr Index width = 7, e = 10, s = 8, chunk = 5;  // odd `width`: the token shift moves 4 of 7 channels

MixedChunkAttentionConfig lucidrains(bool causal) {
  auto config = flash_presets::lucidrains({.channels = width, .query_key = s, .chunk = chunk, .causal = causal});
  config.rotary_dimensions = 6;
  return config;
}
MixedChunkAttentionConfig paper(bool causal) {
  return flash_presets::paper({.channels = width, .query_key = s, .chunk = chunk, .causal = causal});
}

MixedChunkAttentionConfig any(Random& random) {
  const auto one_of = [&](auto... values) { return test::one_of(random, values...); };
  MixedChunkAttentionConfig config{.channels = width, .value = e, .query_key = s};
  config.chunk = one_of(Index{1}, Index{4}, Index{5}, Index{30});
  config.projection = one_of(ProjectionLayout::fused, ProjectionLayout::separate);
  config.norm = one_of(NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt);
  config.kernel = one_of(ScoreKernel::relu2, ScoreKernel::laplace, ScoreKernel::laplace_legacy);
  config.relative_bias = one_of(RelativeBiasForm::none, RelativeBiasForm::t5, RelativeBiasForm::toeplitz);
  config.offset_scale_order = one_of(OffsetScaleOrder::lucidrains, OffsetScaleOrder::paper);
  config.causal = one_of(true, false);
  config.reduction = config.causal ? one_of(LinearReduction::sum, LinearReduction::mean)
                                   : one_of(LinearReduction::sum, LinearReduction::mean, LinearReduction::own_chunk);
  config.rotary = one_of(Rotary::none, Rotary::interleaved, Rotary::half);
  config.rotary_dimensions = one_of(Index{0}, Index{4});
  config.token_shift = one_of(true, false);
  return config;
}

/// A stream keeps sums of finished chunks, so it cannot rewind. With a token shift, a masked token changes the next output.
test::Promises promises(const MixedChunkAttentionConfig& config, std::vector<Index> lengths) {
  return {.lengths = std::move(lengths), .causal = config.causal, .rewinds = false, .mask_hides = !config.token_shift};
}

TEST(MixedChunkAttention, KeepsItsPromisesForEveryPreset) {
  for (const bool causal : {false, true}) {
    for (const MixedChunkAttentionConfig& config : {lucidrains(causal), paper(causal)}) {
      test::expect_promises<MixedChunkAttention>(config, promises(config, {7, 0, 1, 23, 5}));
    }
  }
}

TEST(MixedChunkAttention, KeepsItsPromisesWithThreadedProducts) {
  for (const bool causal : {false, true}) {
    const flash_presets::Sizes sizes{.channels = 24, .query_key = 16, .chunk = 260, .causal = causal};
    for (MixedChunkAttentionConfig config : {flash_presets::lucidrains(sizes), flash_presets::paper(sizes)}) {
      config.token_shift = false;
      auto promised = promises(config, {320, 7});
      promised.trains = false;
      test::expect_promises<MixedChunkAttention>(config, promised);
    }
  }
}

TEST(MixedChunkAttention, KeepsItsPromisesForRandomOptions) {
  Random random(6);
  for (int draw = 0; draw < 40; ++draw) {
    const MixedChunkAttentionConfig config = any(random);
    auto promised = promises(config, {7, 0, 1, 12, 5});
    promised.trains = draw % 4 == 0;
    test::expect_promises<MixedChunkAttention>(config, promised);
  }
}

template <class T>
class MixedChunkAttentionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MixedChunkAttentionOf, Scalars, );

TYPED_TEST(MixedChunkAttentionOf, EveryPresetEqualsItsFormulaAtEveryLength) {
  using T = TypeParam;
  for (const bool causal : {false, true}) {
    for (const MixedChunkAttentionConfig& config : {lucidrains(causal), paper(causal)}) {
      const auto layer = random_layer<MixedChunkAttention<T>>(config);
      for (const Index n : {1, 4, 5, 6, 10, 11, 23}) {
        const auto sequences = Sequences::single(n);
        const auto x = random_matrix<T>(n, width, 2);
        EXPECT_TRUE(near(run(layer, x, sequences), literal::mixed_chunk_attention(layer, wide(x), sequences)))
            << n << ": " << settings_of(config);
        const auto mask = test::random_mask(sequences, 3);
        EXPECT_TRUE(near(run(layer, x, sequences, mask), literal::mixed_chunk_attention(layer, wide(x), sequences, mask)))
            << n << ", masked: " << settings_of(config);
      }
    }
  }
}

TYPED_TEST(MixedChunkAttentionOf, RandomOptionsEqualTheFormula) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({5, 0, 13, 1, 4, 21});
  const auto x = random_matrix<T>(sequences.total(), width, 2);
  const auto mask = test::random_mask(sequences, 3);
  Random random(4);
  for (int draw = 0; draw < 100; ++draw) {
    const auto layer = random_layer<MixedChunkAttention<T>>(any(random));
    ASSERT_TRUE(near(run(layer, x, sequences), literal::mixed_chunk_attention(layer, wide(x), sequences)))
        << settings_of(layer.config);
    ASSERT_TRUE(near(run(layer, x, sequences, mask), literal::mixed_chunk_attention(layer, wide(x), sequences, mask)))
        << "masked: " << settings_of(layer.config);
  }
}

TYPED_TEST(MixedChunkAttentionOf, EqualsItsFormulaAcrossBlocksOfScores) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({320, 7});
  const auto x = random_matrix<T>(sequences.total(), width, 2);
  for (const bool causal : {false, true}) {
    auto config = lucidrains(causal);
    config.chunk = 150;
    const auto layer = random_layer<MixedChunkAttention<T>>(config);
    EXPECT_TRUE(near(run(layer, x, sequences), literal::mixed_chunk_attention(layer, wide(x), sequences))) << causal;
  }
}

/// A layer that only mixes tokens: u = 1, v = x, and an identity output projection.
template <class T>
MixedChunkAttention<T> bare(LinearReduction reduction, bool causal) {
  MixedChunkAttention<T> layer({.channels = 2,
                                .value = 2,
                                .query_key = 2,
                                .chunk = 4,
                                .projection = ProjectionLayout::fused,
                                .activation = Activation::identity,
                                .norm = NormForm::none,
                                .relative_bias = RelativeBiasForm::none,
                                .reduction = reduction,
                                .causal = causal});
  layer.projection.hidden.bias.head(2).setOnes();
  layer.projection.hidden.weight.setZero();
  layer.projection.hidden.weight.middleRows(2, 2).setIdentity();
  layer.projection.hidden.bias.tail(2).setOnes();  // z = 1
  layer.offset_scale.weight.setZero();
  layer.offset_scale.weight.row(1).setConstant(T(0.5));
  layer.offset_scale.weight.row(3).setOnes();  // local q · k = 0, global q · k = 1 for all tokens
  layer.proj_out.weight.setIdentity();
  return layer;
}

TYPED_TEST(MixedChunkAttentionOf, CausalMeanDividesByTokensInFinishedChunks) {
  using T = TypeParam;
  const Index n = 14, c = 4;
  const auto x = random_matrix<T>(n, 2, 2);
  for (const LinearReduction reduction : {LinearReduction::sum, LinearReduction::mean}) {
    const Matrix<T> y = run(bare<T>(reduction, true), x, Sequences::single(n));
    EXPECT_TRUE(same_bits(Matrix<T>(y.topRows(c)), Matrix<T>(x.topRows(c)))) << "the first chunk has no global part";
    for (Index t = c; t < n; ++t) {
      const Index finished = t / c;  // number of finished chunks: g - 1 in the paper
      const Index divisor = reduction == LinearReduction::mean ? finished * c : c;
      const Matrix<double> expected =
          wide<T>(x.row(t)) + wide<T>(x.topRows(finished * c)).colwise().sum() / static_cast<double>(divisor);
      EXPECT_TRUE(near(Matrix<T>(y.row(t)), expected)) << t;
    }
  }
}

TYPED_TEST(MixedChunkAttentionOf, GlobalPartDividesByLengthOrByPaddedLength) {
  using T = TypeParam;
  const Index n = 14, c = 4;
  const auto x = random_matrix<T>(n, 2, 2);
  const auto global = [&](LinearReduction reduction) -> Matrix<T> {
    return run(bare<T>(reduction, false), x, Sequences::single(n)) - x;
  };
  const Matrix<T> sum = global(LinearReduction::sum), mean = global(LinearReduction::mean);
  const Matrix<T> own = global(LinearReduction::own_chunk);
  for (Index t = 0; t < n; ++t) {
    EXPECT_TRUE(near(Matrix<T>(sum.row(t)), wide<T>(x).colwise().sum() / 14.0)) << t;
    EXPECT_TRUE(near(Matrix<T>(mean.row(t)), wide<T>(x).colwise().sum() / 16.0)) << "four chunks, the last padded";
    const Index first = t / c * c;
    EXPECT_TRUE(near(Matrix<T>(own.row(t)), wide<T>(x.middleRows(first, std::min(c, n - first))).colwise().sum() / 14.0));
  }
}

TYPED_TEST(MixedChunkAttentionOf, GlobalPartDoesNotDependOnTheChunkSize) {
  using T = TypeParam;
  auto config = lucidrains(false);
  config.relative_bias = RelativeBiasForm::none;
  auto layer = random_layer<MixedChunkAttention<T>>(config);
  layer.offset_scale.weight.row(0).setZero();
  layer.offset_scale.bias.row(0).setZero();  // no local part
  const auto x = random_matrix<T>(23, width, 2);
  const Matrix<double> unchunked = literal::mixed_parts(layer, wide(x), Sequences::single(23)).global;
  Matrix<T> previous;
  for (const Index other : {1, 2, 5, 23, 100}) {
    layer.config.chunk = other;
    const Matrix<T> y = run(layer, x, Sequences::single(23));
    EXPECT_TRUE(near(y, literal::mixed_chunk_attention(layer, wide(x), Sequences::single(23))));
    EXPECT_TRUE(near(literal::mixed_parts(layer, wide(x), Sequences::single(23)).global, unchunked));
    if (previous.size() > 0) {
      EXPECT_TRUE(near(y, wide(previous))) << other;
    }
    previous = y;
  }
}

/// A gated attention unit with the projections of `layer` and its local queries and keys, but without a token shift.
template <class T>
GatedAttentionUnit<T> unit_like(const MixedChunkAttention<T>& layer) {
  const MixedChunkAttentionConfig& c = layer.config;
  GatedAttentionUnit<T> unit({.channels = c.channels,
                              .value = c.value,
                              .query_key = c.query_key,
                              .max_length = c.chunk,
                              .projection = c.projection,
                              .norm = c.norm,
                              .kernel = c.kernel,
                              .score_scale = ScoreScale::max_length,
                              .relative_bias = c.relative_bias,
                              .relative_bias_scale = std::sqrt(static_cast<double>(c.query_key)),
                              .rotary = c.rotary,
                              .rotary_dimensions = c.rotary_dimensions,
                              .causal = c.causal});
  unit.norm = layer.norm;
  unit.projection = layer.projection;
  unit.offset_scale.weight << layer.offset_scale.weight.row(0),
      layer.offset_scale.weight.row(c.offset_scale_order == OffsetScaleOrder::paper ? 1 : 2);
  unit.offset_scale.bias << layer.offset_scale.bias.row(0),
      layer.offset_scale.bias.row(c.offset_scale_order == OffsetScaleOrder::paper ? 1 : 2);
  unit.relative_bias.weight = layer.relative_bias.weight;
  unit.proj_out = layer.proj_out;
  return unit;
}

TYPED_TEST(MixedChunkAttentionOf, ALocalChunkEqualsAGatedAttentionUnit) {
  using T = TypeParam;
  for (const bool causal : {false, true}) {
    for (MixedChunkAttentionConfig config : {lucidrains(causal), paper(causal)}) {
      config.token_shift = false;
      config.chunk = 20;
      auto layer = random_layer<MixedChunkAttention<T>>(config);
      if (!causal) {  // removes the global part; a causal layer has none in its first chunk
        const Index global_q = config.offset_scale_order == OffsetScaleOrder::paper ? 2 : 1;
        layer.offset_scale.weight.row(global_q).setZero();
        layer.offset_scale.bias.row(global_q).setZero();
      }
      const auto sequences = Sequences::of_lengths({20, 3});
      const auto x = random_matrix<T>(23, width, 2);
      Workspace<T> workspace;
      EXPECT_TRUE(near(run(layer, x, sequences), wide(unit_like(layer).forward(x, sequences, workspace))))
          << settings_of(config);
    }
  }
}

TYPED_TEST(MixedChunkAttentionOf, HandlesFullyMaskedSequences) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({4, 7, 3});
  const auto x = random_matrix<T>(14, width, 2);
  std::vector<std::uint8_t> mask(14, 1);
  std::fill_n(mask.begin() + 4, 7, std::uint8_t{0});
  Random random(9);
  for (int draw = 0; draw < 30; ++draw) {
    const auto layer = random_layer<MixedChunkAttention<T>>(any(random));
    SCOPED_TRACE(settings_of(layer.config));
    const Matrix<T> y = run(layer, x, sequences, mask);
    EXPECT_TRUE(near(y, literal::mixed_chunk_attention(layer, wide(x), sequences, mask)));
    const Matrix<double> left = wide(x) + literal::linear(layer.proj_out, Matrix<double>::Zero(14, layer.config.value));
    EXPECT_TRUE(near<T>(y.middleRows(4, 7), left.middleRows(4, 7))) << "the output bias and the residual remain";
  }
}

TEST(MixedChunkAttention, ShowsHooksTheWeightsOfEachChunk) {
  const auto layer = random_layer<MixedChunkAttention<float>>(lucidrains(true));
  Workspace<float> workspace;
  std::vector<std::string> maps;
  workspace.set_hook([&](const std::string& path, ConstView<float> output) {
    if (path.starts_with("weights")) {
      maps.push_back(text(path, " ", output.rows(), " ", output.cols()));
    }
  });
  layer.forward(random_matrix<float>(9, width, 2), Sequences::of_lengths({7, 2}), workspace);
  EXPECT_EQ(maps, (std::vector<std::string>{"weights.0.0 5 5", "weights.0.1 2 2", "weights.1.0 2 2"}));
}

TEST(MixedChunkAttention, RefusesEachInvalidOption) {
  const auto refuse = [](auto change, const std::string& part) {
    auto config = lucidrains(true);
    change(config);
    EXPECT_TRUE(refuses<ArgumentError>([&] { MixedChunkAttention<float>{config}; }, part));
  };
  refuse([](auto& config) { config.chunk = 0; }, "chunk = 0, expected 1");
  refuse([](auto& config) { config.chunk = -3; }, "chunk = -3");
  refuse([](auto& config) { config.channels = 0; }, "channels = 0");
  refuse([](auto& config) { config.reduction = LinearReduction::own_chunk; }, "or causal = false");
  refuse([](auto& config) { config.kernel = ScoreKernel::softmax; }, "kernel = softmax, expected relu2 or laplace");
  refuse([](auto& config) { config.kernel = ScoreKernel::softmax_plus; }, "kernel = softmax_plus");
  refuse([](auto& config) { config.rotary_dimensions = 5; }, "rotary_dimensions");
  refuse([](auto& config) { config.rotary_dimensions = 10; }, "rotary_dimensions = 10, expected 0 … query_key = 8");
  refuse([](auto& config) { config.rotary_dimensions = -4; }, "rotary_dimensions = -4, expected 0 … query_key = 8");
  refuse(
      [](auto& config) {
        config.query_key = 7;
        config.rotary_dimensions = 0;
      },
      "rotary_dimensions");
}

TEST(MixedChunkAttention, RefusesAStateThatAFailedCallHasChanged) {
  MixedChunkAttention<float> layer(lucidrains(true));
  auto state = layer.start(), fresh = layer.start();
  const Matrix<float> x = random_matrix<float>(2, width, 1);
  Matrix<float> y = untouched<float>(2, width);
  Workspace<float> workspace;
  EXPECT_TRUE(refuses<ArgumentError>([&] { layer.extend(x, state, y, workspace); }, "was never set"));  // after the shift
  test::randomize(layer, 2);
  y = untouched<float>(2, width);
  EXPECT_TRUE(refuses<ArgumentError>([&] { layer.extend(x, state, y, workspace); },
                                     "MixedChunkAttention::extend: an earlier call failed halfway"));
  EXPECT_TRUE(is_untouched(y));
  layer.extend(x, fresh, y, workspace);
  EXPECT_TRUE(same_bits(y, layer.forward(x, Sequences::single(2), workspace)));
}

TEST(MixedChunkAttention, RefusesToStreamIfNotCausal) {
  EXPECT_TRUE(refuses<ArgumentError>([] { MixedChunkAttention<float>(lucidrains(false)).start(); }, "causal = true"));
}

TEST(MixedChunkAttention, AStateHasConstantSize) {
  const auto layer = random_layer<MixedChunkAttention<float>>(lucidrains(true));
  auto state = layer.start();
  EXPECT_EQ(state.capacity(), State<float>::unlimited);
  EXPECT_EQ(state.bytes(), sizeof(float) * (s * 2 * width + chunk * (2 * s + 2 * width) + width));
}

TEST(MixedChunkAttention, RefusesStatesOfOtherLayers) {
  const auto layer = random_layer<MixedChunkAttention<float>>(lucidrains(true));
  Workspace<float> workspace;
  std::vector<MixedChunkAttentionConfig> others(5, layer.config);
  others[0].chunk = 6;
  others[1].query_key = 6;
  others[2].value = 6;
  others[3].channels = 6;
  others[4].token_shift = false;
  for (const MixedChunkAttentionConfig& config : others) {
    auto state = MixedChunkAttention<float>(config).start();
    Matrix<float> y = untouched<float>(1, width);
    EXPECT_TRUE(refuses<ArgumentError>([&] { layer.extend(Matrix<float>::Ones(1, width), state, y, workspace); },
                                       "this model's start()"));
    EXPECT_TRUE(is_untouched(y));
    EXPECT_EQ(state.position(), 0);
  }
}

}  // namespace
}  // namespace gated::mixed_chunk_attention_test
