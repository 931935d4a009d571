#include "gated/layers/gated_attention_unit.hpp"

#include "gated/layers/tiny_attention.hpp"
#include "gated/models/gau_presets.hpp"
#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::gated_attention_unit_test {
namespace {

using test::is_untouched;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::refuses;
using test::run;
using test::settings_of;
using test::untouched;
using test::wide;

constexpr Index c = 6, e = 10, s = 8, longest = 12;

/// The published configurations, at a small size.
std::vector<GatedAttentionUnitConfig> presets(Index max_length = longest) {
  const gau_presets::Sizes sizes{.channels = c, .max_length = max_length, .query_key = s};
  std::vector<GatedAttentionUnitConfig> all{gau_presets::lucidrains(sizes),        gau_presets::paper(sizes),
                                            gau_presets::flash_quad_junnyu(sizes), gau_presets::gau_alpha(sizes),
                                            gau_presets::gau_alpha(sizes),         gau_presets::rtmcc(sizes)};
  all[4].score_scale = ScoreScale::one;
  return all;
}

/// A random configuration.
GatedAttentionUnitConfig any(Random& random) {
  const auto one_of = [&](auto... values) { return test::one_of(random, values...); };
  GatedAttentionUnitConfig config{.channels = c, .value = e, .query_key = s, .max_length = longest};
  config.projection = one_of(ProjectionLayout::fused, ProjectionLayout::separate);
  config.bias = one_of(true, false);
  config.offset_bias = one_of(true, false);
  config.activation = one_of(Activation::silu, Activation::relu);
  config.norm = one_of(NormForm::none, NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt, NormForm::rms);
  config.norm_position = one_of(NormPosition::pre, NormPosition::post, NormPosition::res_post);
  config.kernel = one_of(ScoreKernel::relu2, ScoreKernel::laplace, ScoreKernel::laplace_legacy, ScoreKernel::softmax,
                         ScoreKernel::softmax_plus);
  config.score_scale = one_of(ScoreScale::length, ScoreScale::max_length, ScoreScale::sqrt_width, ScoreScale::one);
  config.divide_by_keys = one_of(true, false);
  config.bias_inside_scale = one_of(true, false);
  config.relative_bias = one_of(RelativeBiasForm::none, RelativeBiasForm::t5, RelativeBiasForm::toeplitz);
  config.relative_bias_scale = one_of(1.0, 2.5);
  config.rotary = one_of(Rotary::none, Rotary::interleaved, Rotary::half);
  config.rotary_dimensions = one_of(Index{0}, Index{4}, Index{6});
  config.rotary_base = one_of(10000.0, 50.0);
  config.mask_mode = one_of(MaskMode::keys, MaskMode::keys_and_queries);
  config.causal = one_of(true, false);
  config.residual = one_of(Residual::none, Residual::plain, Residual::scaled);
  config.out = config.residual == Residual::none ? one_of(Index{0}, Index{7}) : 0;
  return config;
}

/// True if a stream can compute the attention weights before the length of the sequence is known.
bool streams(const GatedAttentionUnitConfig& config) {
  return config.causal && config.score_scale != ScoreScale::length && !config.divide_by_keys &&
         config.kernel != ScoreKernel::softmax_plus;
}

TEST(GatedAttentionUnit, KeepsItsPromisesForEveryPreset) {
  for (GatedAttentionUnitConfig config : presets()) {
    for (const bool causal : {false, true}) {
      config.causal = causal;
      test::expect_promises<GatedAttentionUnit>(config, {.causal = causal, .streams = streams(config)});
    }
  }
}

TEST(GatedAttentionUnit, KeepsItsPromisesForRandomOptions) {
  Random random(6);
  for (int draw = 0; draw < 40; ++draw) {
    const GatedAttentionUnitConfig config = any(random);
    test::expect_promises<GatedAttentionUnit>(config, {.lengths = {7, 0, 1, 12, 4},
                                                       .causal = config.causal,
                                                       .streams = streams(config),
                                                       .trains = draw % 4 == 0 && config.activation != Activation::relu});
  }
}

/// Configurations of causal units that can stream: their scores and weights do not depend on the length of the sequence.
std::vector<GatedAttentionUnitConfig> streamable(Index max_length, Index channels = c) {
  const gau_presets::Sizes sizes{.channels = channels, .max_length = max_length, .query_key = s};
  std::vector<GatedAttentionUnitConfig> all(7, gau_presets::flash_quad_junnyu(sizes));
  all[1] = gau_presets::lucidrains(sizes);
  all[1].score_scale = ScoreScale::sqrt_width;
  all[2] = gau_presets::gau_alpha(sizes);
  all[2].kernel = ScoreKernel::softmax;
  all[3] = gau_presets::rtmcc(sizes);
  all[4].kernel = ScoreKernel::laplace;
  all[5].score_scale = ScoreScale::one;
  all[6].rotary = Rotary::interleaved;
  all[6].rotary_dimensions = 4;
  for (auto& config : all) {
    config.causal = true;
  }
  return all;
}

TEST(GatedAttentionUnit, KeepsItsPromisesInStreams) {
  for (const GatedAttentionUnitConfig& config : streamable(14)) {
    ASSERT_TRUE(streams(config));
    test::expect_promises<GatedAttentionUnit>(config, {.lengths = {14}, .causal = true});
  }
}

TEST(GatedAttentionUnit, KeepsItsPromisesWithThreadedProducts) {
  const auto configs = streamable(300, 24);
  for (const std::size_t i : {1U, 2U, 6U}) {  // T5 bias, softmax, Toeplitz bias with RoPE
    const GatedAttentionUnitConfig& config = configs[i];
    test::expect_promises<GatedAttentionUnit>(config, {.lengths = {300, 3, 170}, .causal = true, .trains = false});
  }
}

template <class T>
class GatedAttentionUnitOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GatedAttentionUnitOf, Scalars, );

TYPED_TEST(GatedAttentionUnitOf, EveryPresetEqualsItsFormula) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({9, 1, 0, 12});
  const auto x = random_matrix<T>(sequences.total(), c, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (GatedAttentionUnitConfig config : presets()) {
    for (const bool causal : {false, true}) {
      config.causal = causal;
      const auto unit = random_layer<GatedAttentionUnit<T>>(config);
      EXPECT_TRUE(near(run(unit, x, sequences), literal::attention_unit(unit, wide(x), sequences))) << settings_of(config);
      EXPECT_TRUE(near(run(unit, x, sequences, mask), literal::attention_unit(unit, wide(x), sequences, mask)))
          << settings_of(config);
    }
  }
}

TYPED_TEST(GatedAttentionUnitOf, RandomOptionsEqualTheFormula) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({5, 0, 12, 1});
  const auto x = random_matrix<T>(sequences.total(), c, 2);
  const auto mask = test::random_mask(sequences, 3);
  const auto bias = random_matrix<T>(longest, longest, 4);
  Random random(5);
  for (int draw = 0; draw < 300; ++draw) {
    const auto unit = random_layer<GatedAttentionUnit<T>>(any(random));
    ASSERT_TRUE(near(run(unit, x, sequences), literal::attention_unit(unit, wide(x), sequences))) << settings_of(unit.config);
    Matrix<T> y(x.rows(), unit.config.out);
    Workspace<T> workspace;
    unit.forward(x, sequences, bias, y, workspace, mask);
    ASSERT_TRUE(near(y, literal::attention_unit(unit, wide(x), sequences, mask, wide(bias))))
        << "with a bias and a mask: " << settings_of(unit.config);
  }
}

TYPED_TEST(GatedAttentionUnitOf, EqualsItsFormulaAcrossBlocksOfScores) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({3, 270});
  const auto x = random_matrix<T>(sequences.total(), c, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (GatedAttentionUnitConfig config : presets(270)) {
    for (const bool causal : {false, true}) {
      config.causal = causal;
      const auto unit = random_layer<GatedAttentionUnit<T>>(config);
      EXPECT_TRUE(near(run(unit, x, sequences, mask), literal::attention_unit(unit, wide(x), sequences, mask)))
          << settings_of(config);
    }
  }
}

TYPED_TEST(GatedAttentionUnitOf, HooksSeeItsAttentionWeights) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({12, 5});
  const Matrix<T> x = random_matrix<T>(sequences.total(), c, 2);
  for (const GatedAttentionUnitConfig& config : presets()) {
    Workspace<T> workspace;
    std::vector<std::string> maps;
    workspace.set_hook([&](const std::string& path, ConstView<T> output) {
      if (path.starts_with("weights")) {
        maps.push_back(text(path, " ", output.rows(), " ", output.cols()));
      }
    });
    random_layer<GatedAttentionUnit<T>>(config).forward(x, sequences, workspace);
    EXPECT_EQ(maps, (std::vector<std::string>{"weights.0 12 12", "weights.1 5 5"})) << settings_of(config);
  }
}

/// If a sequence has no token to attend to, its output is the bias of W_o plus the residual.
TYPED_TEST(GatedAttentionUnitOf, HandlesFullyMaskedSequencesExceptWithSoftmax) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({4, 3, 5});
  const auto x = random_matrix<T>(12, c, 2);
  const std::vector<std::uint8_t> mask{1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1};
  Random random(9);
  int hidden = 0, refused = 0;
  for (int draw = 0; draw < 60; ++draw) {
    const auto unit = random_layer<GatedAttentionUnit<T>>(any(random));
    SCOPED_TRACE(settings_of(unit.config));
    if (is_softmax(unit.config.kernel)) {
      Matrix<T> y = untouched<T>(12, unit.out());
      Workspace<T> workspace;
      EXPECT_TRUE(refuses<ShapeError>([&] { unit.forward(x, sequences, y, workspace, mask); },
                                      "GatedAttentionUnit::forward: the mask leaves no token of sequence 1"));
      EXPECT_TRUE(is_untouched(y));
      ++refused;
      continue;
    }
    const Matrix<T> y = run(unit, x, sequences, mask);
    EXPECT_TRUE(near(y, literal::attention_unit(unit, wide(x), sequences, mask)));
    const NormPosition position = unit.config.norm_position;
    Matrix<double> left = literal::linear(unit.proj_out, Matrix<double>::Zero(12, unit.config.value));
    left = position == NormPosition::res_post ? literal::norm(unit.norm, left) : left;
    left = literal::add_residual<T>(left, wide(x), unit.config.residual, unit.residual_scale);
    left = position == NormPosition::post ? literal::norm(unit.norm, left) : left;
    EXPECT_TRUE(near<T>(y.middleRows(4, 3), left.middleRows(4, 3)));

    Tape<T> tape;
    auto gradient = zeros_like(unit);
    tape.begin(unit, gradient);
    const Variable input = tape.input(x), output = record(tape, unit, input, sequences, mask);
    EXPECT_TRUE(test::same_bits(Matrix<T>(tape[output]), y)) << "in training";
    tape.backward(output, y);
    EXPECT_TRUE(ConstView<T>(tape.gradient(input)).allFinite());
    ++hidden;
  }
  EXPECT_GT(hidden, 15);
  EXPECT_GT(refused, 15);
}

TYPED_TEST(GatedAttentionUnitOf, IsPlainAttentionIfTheGateIsOne) {
  using T = TypeParam;
  auto unit = random_layer<GatedAttentionUnit<T>>({.channels = c,
                                                   .value = s,
                                                   .query_key = s,
                                                   .offset_bias = false,
                                                   .activation = Activation::identity,
                                                   .norm = NormForm::none,
                                                   .kernel = ScoreKernel::softmax,
                                                   .score_scale = ScoreScale::sqrt_width,
                                                   .residual = Residual::none});
  unit.projection.hidden.weight.topRows(s).setZero();
  unit.projection.hidden.bias.setZero();
  unit.projection.hidden.bias.head(s).setOnes();
  TinyAttention<T> attention({.channels = c, .width = s, .out = c});
  const Matrix<T> z = unit.projection.hidden.weight.bottomRows(s);
  for (Index i = 0; i < 2; ++i) {
    attention.qkv.weight.middleRows(i * s, s) = unit.offset_scale.weight.row(i).transpose().asDiagonal() * z;
  }
  attention.qkv.weight.bottomRows(s) = unit.projection.hidden.weight.middleRows(s, s);
  attention.proj_out = unit.proj_out;
  const auto sequences = Sequences::of_lengths({9, 4});
  const auto x = random_matrix<T>(13, c, 2);
  for (const bool causal : {false, true}) {
    unit.config.causal = attention.config.causal = causal;
    Workspace<T> workspace;
    EXPECT_TRUE(near(run(unit, x, sequences), wide(attention.forward(x, sequences, workspace))));
  }
}

TYPED_TEST(GatedAttentionUnitOf, IsAGluIfEachTokenSeesOnlyItself) {
  using T = TypeParam;
  for (const ProjectionLayout layout : {ProjectionLayout::fused, ProjectionLayout::separate}) {
    auto unit = random_layer<GatedAttentionUnit<T>>({.channels = c, .value = e, .query_key = s, .projection = layout});
    unit.offset_scale.weight.setZero();
    unit.offset_scale.bias.setZero();
    const auto sequences = Sequences::of_lengths({12, 3});
    const auto x = random_matrix<T>(15, c, 2);
    const Matrix<T> identity = Matrix<T>::Identity(12, 12);  // as a score bias: weight relu²(0 + 1) = 1 on the diagonal, else 0
    Matrix<T> y(15, c);
    Workspace<T> workspace;
    unit.forward(x, sequences, identity, y, workspace);
    const auto part = literal::project(unit.projection, e, literal::norm(unit.norm, wide(x)));
    EXPECT_TRUE(near(y, wide(x) + literal::linear(unit.proj_out, part.u.cwiseProduct(part.v))));
  }
}

TYPED_TEST(GatedAttentionUnitOf, ZeroesMaskedWeightsAfterLaplace) {
  using T = TypeParam;
  auto unit = random_layer<GatedAttentionUnit<T>>({.channels = c,
                                                   .value = e,
                                                   .query_key = s,
                                                   .norm = NormForm::none,
                                                   .kernel = ScoreKernel::laplace,
                                                   .residual = Residual::none});
  unit.offset_scale.weight.setZero();
  unit.offset_scale.bias.setZero();  // every score is 0
  const auto x = random_matrix<T>(4, c, 2);
  const double at_zero = 0.5 * (1 + std::erf(-std::sqrt(std::numbers::pi)));
  ASSERT_GT(at_zero, 0.005);
  const auto part = literal::project(unit.projection, e, wide(x));
  const auto expected = [&](const std::vector<std::vector<Index>>& seen) {
    Matrix<double> attended = Matrix<double>::Zero(4, e);
    for (Index i = 0; i < 4; ++i) {
      for (const Index j : seen[static_cast<std::size_t>(i)]) {
        attended.row(i) += at_zero * part.u.row(i).cwiseProduct(part.v.row(j));
      }
    }
    return literal::linear(unit.proj_out, attended);
  };
  const std::vector<std::uint8_t> mask{1, 0, 1, 1};
  const std::vector<Index> keys{0, 2, 3};
  EXPECT_TRUE(near(run(unit, x, Sequences::single(4), mask), expected({keys, keys, keys, keys})));
  unit.config.causal = true;
  EXPECT_TRUE(near(run(unit, x, Sequences::single(4)), expected({{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}})));
  EXPECT_TRUE(near(run(unit, x, Sequences::single(4), mask), expected({{0}, {0}, {0, 2}, {0, 2, 3}})));
  unit.config.mask_mode = MaskMode::keys_and_queries;
  EXPECT_TRUE(near(run(unit, x, Sequences::single(4), mask), expected({{0}, {}, {0, 2}, {0, 2, 3}})));
}

TEST(GatedAttentionUnit, AStateHoldsKeysAndValuesOfEveryToken) {
  const auto unit = random_layer<GatedAttentionUnit<float>>(streamable(14)[0]);
  EXPECT_EQ(unit.start(14).bytes(), sizeof(float) * static_cast<std::size_t>(14 * (s + 2 * c)));
}

TEST(GatedAttentionUnit, AWarmStreamAllocatesNothing) {
  constexpr Index length = 900;
  for (const GatedAttentionUnitConfig& config : streamable(length)) {
    const auto unit = random_layer<GatedAttentionUnit<float>>(config);
    const auto x = random_matrix<float>(length, c, 2);
    Matrix<float> y(1, c);
    Workspace<float> workspace;
    auto state = unit.start(length);
    unit.extend(x.row(0), state, y, workspace);
    EXPECT_EQ(test::allocations_during([&] {
                for (Index i = 1; i < length; ++i) {
                  unit.extend(x.row(i), state, y, workspace);
                }
              }),
              0)
        << settings_of(config);
  }
}

TEST(GatedAttentionUnit, RefusesNegativeOptions) {
  EXPECT_TRUE(refuses<ArgumentError>([] { GatedAttentionUnit<float>({.channels = 4, .value = 8, .out = -4}); }, "out = -4"));
  EXPECT_TRUE(refuses<ArgumentError>([] { GatedAttentionUnit<float>({.channels = 4, .value = 8, .rotary_dimensions = -4}); },
                                     "rotary_dimensions = -4"));
}

TEST(GatedAttentionUnit, RefusesToStreamIfNotCausal) {
  auto config = gau_presets::paper({.channels = c, .max_length = 14, .query_key = s});
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); }, "causal = true"));
  config.causal = true;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); },
                                     "Set score_scale = max_length or sqrt_width"));
  config.score_scale = ScoreScale::max_length;
  config.divide_by_keys = true;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); }, "divide_by_keys = false"));
  config.divide_by_keys = false;
  config.kernel = ScoreKernel::softmax_plus;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(4); }, "kernel other than softmax_plus"));
  config.kernel = ScoreKernel::relu2;
  EXPECT_TRUE(refuses<ShapeError>([&] { GatedAttentionUnit<float>(config).start(15); },
                                  "GatedAttentionUnit::start: capacity = 15, but the model can serve 14 tokens at most"));
  EXPECT_NO_THROW(GatedAttentionUnit<float>(config).start(14));
  EXPECT_EQ(GatedAttentionUnit<float>(config).start().capacity(), 14) << "the size of the Toeplitz bias";
  config.relative_bias = RelativeBiasForm::none;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(); }, "start(capacity)"));
  EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>(config).start(-1); }, "capacity = -1"));
}

TEST(GatedAttentionUnit, RefusesStatesOfOtherUnits) {
  const auto unit = random_layer<GatedAttentionUnit<float>>(streamable(14)[0]);
  Workspace<float> workspace;
  Matrix<float> y = untouched<float>(1, c);
  std::vector<GatedAttentionUnitConfig> others(3, unit.config);
  others[0].query_key = 4;
  others[1].value = 5;
  others[2].max_length = 40;  // the state's widths match, but its capacity exceeds the positions of `unit`'s Toeplitz bias
  for (const GatedAttentionUnitConfig& config : others) {
    auto state = GatedAttentionUnit<float>(config).start(config.max_length);
    EXPECT_TRUE(refuses<ArgumentError>([&] { unit.extend(Matrix<float>::Ones(1, c), state, y, workspace); },
                                       "Make one with this model's start()"));
    EXPECT_TRUE(is_untouched(y));
    EXPECT_EQ(state.position(), 0);
  }
  auto both_ways = unit.config;
  both_ways.causal = false;
  auto state = unit.start(14);
  EXPECT_TRUE(refuses<ArgumentError>(
      [&] { random_layer<GatedAttentionUnit<float>>(both_ways).extend(Matrix<float>::Ones(1, c), state, y, workspace); },
      "GatedAttentionUnit::extend: an output depends on later tokens"));
  EXPECT_TRUE(is_untouched(y));
}

TEST(GatedAttentionUnit, RefusesBadInputBeforeWriting) {
  auto config = gau_presets::flash_quad_junnyu({.channels = c, .max_length = 8, .query_key = s});
  const auto unit = random_layer<GatedAttentionUnit<float>>(config);
  Workspace<float> workspace;
  const auto refuse = [&](const Sequences& sequences, const std::vector<std::uint8_t>& mask, const std::string& part) {
    Matrix<float> y = untouched<float>(sequences.total(), c);
    EXPECT_TRUE(refuses<ShapeError>(
        [&] { unit.forward(random_matrix<float>(sequences.total(), c, 1), sequences, y, workspace, mask); }, part));
    EXPECT_TRUE(is_untouched(y)) << part;
  };
  refuse(Sequences::single(9), {},
         "GatedAttentionUnit::forward: sequence 0 of 1 has 9 tokens, expected 8 at most. Build the Toeplitz bias with a "
         "larger max_length, or choose relative_bias = t5 or none.");
  refuse(Sequences::single(6), {1, 1, 1, 1, 1}, "the mask has 5 entries, expected 6");
  Matrix<float> y = untouched<float>(6, c);
  EXPECT_TRUE(refuses<ShapeError>(
      [&] {
        unit.forward(random_matrix<float>(6, c, 1), Sequences::of_lengths({2, 4}), random_matrix<float>(3, 4, 1), y, workspace);
      },
      "bias is 3 × 4, expected at least 4 × 4"));
  EXPECT_TRUE(is_untouched(y));
}

TEST(GatedAttentionUnit, RefusesInvalidConfigurations) {
  const auto refuse = [](auto change, const std::string& part) {
    auto config = gau_presets::paper({.channels = c, .max_length = 8, .query_key = s});
    change(config);
    EXPECT_TRUE(refuses<ArgumentError>([&] { GatedAttentionUnit<float>{config}; }, part));
  };
  refuse([](auto& config) { config.channels = 0; }, "channels = 0");
  refuse([](auto& config) { config.value = -1; }, "value = -1");
  refuse([](auto& config) { config.query_key = 0; }, "query_key = 0");
  refuse([](auto& config) { config.query_key = 7; }, "rotary_dimensions");  // odd
  refuse([](auto& config) { config.rotary_dimensions = 5; }, "rotary_dimensions");
  refuse([](auto& config) { config.rotary_dimensions = 10; }, "rotary_dimensions = 10, expected at most query_key = 8");
  refuse([](auto& config) { config.max_length = 0; }, "max_length");
  refuse([](auto& config) { config.out = 5; }, "Set residual = none");
  refuse(
      [](auto& config) {
        config.relative_bias = RelativeBiasForm::none;
        config.score_scale = ScoreScale::max_length;
        config.max_length = 0;
      },
      "score_scale = max_length, but max_length = 0.");
}

}  // namespace
}  // namespace gated::gated_attention_unit_test
