#include "gated/layers/gated_attention_unit.hpp"

#include <gtest/gtest.h>

#include "gated/layers/tiny_attention.hpp"
#include "gated/models/gau_presets.hpp"
#include "literal_attention.hpp"

namespace gated {
namespace {

using test::near;
using test::random_layer;
using test::random_matrix;
using test::refuses;
using test::run;
using test::same_bits;
using test::settings_of;
using test::wide;

constexpr Index c = 6, e = 10, s = 8, longest = 12;

/// The published forms, at a small size.
std::vector<GatedAttentionUnitConfig> presets() {
  std::vector<GatedAttentionUnitConfig> all{
      gau_presets::lucidrains(c, s), gau_presets::paper(c, longest, s),   gau_presets::flash_quad_junnyu(c, longest, s),
      gau_presets::gau_alpha(c, s),  gau_presets::gau_alpha(c, s, false), gau_presets::rtmcc(c, s)};
  return all;
}

/// A configuration with every option drawn by lot.
GatedAttentionUnitConfig any(Random& random) {
  const auto one_of = [&](auto... values) { return test::one_of(random, values...); };
  GatedAttentionUnitConfig config{.channels = c, .value = e, .query_key = s, .max_length = longest};
  config.projection = one_of(ProjectionLayout::fused, ProjectionLayout::separate);
  config.bias = one_of(true, false);
  config.offset_bias = one_of(true, false);
  config.activation = one_of(Activation::silu, Activation::relu);
  config.norm = one_of(NormForm::none, NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt, NormForm::rms);
  config.norm_position = one_of(NormPosition::pre, NormPosition::post);
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

template <class T>
class GatedAttentionUnitOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GatedAttentionUnitOf, Scalars, );

TYPED_TEST(GatedAttentionUnitOf, EveryPresetEqualsItsLiteralFormula) {
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

TYPED_TEST(GatedAttentionUnitOf, EveryMixtureOfOptionsEqualsTheLiteralFormula) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({5, 0, 12, 1});
  const auto x = random_matrix<T>(sequences.total(), c, 2);
  const auto mask = test::random_mask(sequences, 3);
  const auto bias = random_matrix<T>(longest, longest, 4);
  Random random(5);
  for (int draw = 0; draw < 300; ++draw) {
    const auto unit = random_layer<GatedAttentionUnit<T>>(any(random));
    Matrix<T> y(x.rows(), unit.config.out);
    Workspace<T> workspace;
    unit.forward(x, sequences, y, workspace);
    ASSERT_TRUE(near(y, literal::attention_unit(unit, wide(x), sequences))) << settings_of(unit.config);
    unit.forward(x, sequences, bias, y, workspace, mask);
    ASSERT_TRUE(near(y, literal::attention_unit(unit, wide(x), sequences, mask, wide(bias))))
        << "with a bias and a mask: " << settings_of(unit.config);
  }
}

TYPED_TEST(GatedAttentionUnitOf, SequencesOfSeveralBlocksOfScoresEqualTheLiteralFormula) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({3, 270});
  const auto x = random_matrix<T>(sequences.total(), c, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (GatedAttentionUnitConfig config :
       {gau_presets::lucidrains(c, s), gau_presets::flash_quad_junnyu(c, 270, s), gau_presets::gau_alpha(c, s)}) {
    for (const bool causal : {false, true}) {
      config.causal = causal;
      const auto unit = random_layer<GatedAttentionUnit<T>>(config);
      EXPECT_TRUE(near(run(unit, x, sequences, mask), literal::attention_unit(unit, wide(x), sequences, mask)))
          << settings_of(config);
    }
  }
}

TYPED_TEST(GatedAttentionUnitOf, ARaggedBatchEqualsItsSequencesOneByOne) {
  Random random(6);
  for (int draw = 0; draw < 40; ++draw) {
    test::expect_ragged_equals_alone(random_layer<GatedAttentionUnit<TypeParam>>(any(random)),
                                     Sequences::of_lengths({7, 0, 1, 12, 4}), 2);
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(GatedAttentionUnitOf, CausalTokensNeverSeeTheFuture) {
  using T = TypeParam;
  const auto x = random_matrix<T>(longest, c, 2);
  Random random(7);
  for (int draw = 0; draw < 60; ++draw) {
    GatedAttentionUnitConfig config = any(random);
    config.causal = true;
    const auto unit = random_layer<GatedAttentionUnit<T>>(config);
    const Matrix<T> y = run(unit, x, Sequences::single(longest));
    for (const Index t : {1, 5, 11}) {
      Matrix<T> changed = x;
      changed.row(t).array() *= T(1e15);
      changed.bottomRows(longest - t - 1).setConstant(T(-1e20));
      ASSERT_TRUE(same_bits(Matrix<T>(run(unit, changed, Sequences::single(longest)).topRows(t)), Matrix<T>(y.topRows(t))))
          << t << ": " << settings_of(config);
    }
  }
}

TYPED_TEST(GatedAttentionUnitOf, MaskedTokensLeaveNoTraceHoweverLarge) {
  using T = TypeParam;
  const auto x = random_matrix<T>(longest, c, 2);
  std::vector<std::uint8_t> mask(longest, 1);
  mask[3] = mask[8] = 0;
  Random random(8);
  for (int draw = 0; draw < 60; ++draw) {
    GatedAttentionUnitConfig config = any(random);
    const auto unit = random_layer<GatedAttentionUnit<T>>(config);
    const Matrix<T> y = run(unit, x, Sequences::single(longest), mask);
    Matrix<T> changed = x;
    changed.row(3).setConstant(T(3));
    changed.row(8).array() *= T(1e25);  // scores overflow where no norm stands before them
    const Matrix<T> got = run(unit, changed, Sequences::single(longest), mask);
    for (Index t = 0; t < longest; ++t) {
      if (mask[static_cast<std::size_t>(t)] != 0) {
        ASSERT_TRUE(same_bits(Matrix<T>(got.row(t)), Matrix<T>(y.row(t)))) << t << ": " << settings_of(config);
      }
    }
  }
}

TYPED_TEST(GatedAttentionUnitOf, GivesEqualBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({12, 3, 12, 12, 1});
  const auto x = random_matrix<T>(sequences.total(), c, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (const GatedAttentionUnitConfig& config : presets()) {
    const auto unit = random_layer<GatedAttentionUnit<T>>(config);
    const Matrix<T> y = run(unit, x, sequences, mask);
    EXPECT_TRUE(same_bits(run(unit, x, sequences, mask, 2), y)) << settings_of(config);
    EXPECT_TRUE(same_bits(run(unit, x, sequences, mask, 3), y)) << settings_of(config);
  }
}

TYPED_TEST(GatedAttentionUnitOf, MayWriteOverItsInputAndBeWatched) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({12, 5});
  for (const GatedAttentionUnitConfig& config : presets()) {
    const auto unit = random_layer<GatedAttentionUnit<T>>(config);
    Matrix<T> x = random_matrix<T>(sequences.total(), c, 2);
    const Matrix<T> y = run(unit, x, sequences);
    Workspace<T> workspace;
    std::vector<std::string> maps;
    workspace.observe([&](const std::string& path, ConstView<T> output) {
      if (path.starts_with("weights")) {
        maps.push_back(text(path, " ", output.rows(), " ", output.cols()));
      }
    });
    unit.forward(x, sequences, x, workspace);
    EXPECT_TRUE(same_bits(x, y)) << settings_of(config);
    EXPECT_EQ(maps, (std::vector<std::string>{"weights.0 12 12", "weights.1 5 5"}));
  }
}

TYPED_TEST(GatedAttentionUnitOf, WithAGateOfOneIsPlainAttention) {
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
    Matrix<T> expected(13, c);
    Workspace<T> workspace;
    attention.forward(x, sequences, expected, workspace);
    EXPECT_TRUE(near(run(unit, x, sequences), wide(expected)));
  }
}

TYPED_TEST(GatedAttentionUnitOf, ThatAttendsToItselfOnlyIsAGatedLinearUnit) {
  using T = TypeParam;
  for (const ProjectionLayout layout : {ProjectionLayout::fused, ProjectionLayout::separate}) {
    auto unit = random_layer<GatedAttentionUnit<T>>({.channels = c, .value = e, .query_key = s, .projection = layout});
    unit.offset_scale.weight.setZero();
    unit.offset_scale.bias.setZero();
    const auto sequences = Sequences::of_lengths({12, 3});
    const auto x = random_matrix<T>(15, c, 2);
    const Matrix<T> identity = Matrix<T>::Identity(12, 12);  // relu²(0 + 1) = 1 on the diagonal, 0 elsewhere
    Matrix<T> y(15, c);
    Workspace<T> workspace;
    unit.forward(x, sequences, identity, y, workspace);
    const auto part = literal::project(unit.projection, e, literal::norm(unit.norm, wide(x)));
    EXPECT_TRUE(near(y, wide(x) + literal::linear(unit.proj_out, part.u.cwiseProduct(part.v))));
  }
}

TYPED_TEST(GatedAttentionUnitOf, TakesMaskedTokensAwayBehindLaplaceWhoseZeroIsNot) {
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

}  // namespace
}  // namespace gated
