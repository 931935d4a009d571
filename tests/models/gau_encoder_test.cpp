#include "gated/models/flash.hpp"

#include <gtest/gtest.h>

#include "trunks.hpp"

// Tests specific to GAU as an encoder: presets, padding and segments. language_model_test.cpp tests all language models.

namespace gated::gau_encoder_test {
namespace {

using test::expect_fair_spending;
using test::is_untouched;
using test::literal_model;
using test::near;
using test::random_layer;
using test::random_tokens;
using test::refuses;
using test::same_bits;
using test::untouched;

constexpr Index vocabulary = 11, width = 6, s = 8, longest = 12;

GauEncoderConfig flash_quad() {
  return gau_presets::flash_quad_encoder(
      {.vocabulary = vocabulary, .depth = 2, .masked_words = true},
      gau_presets::flash_quad_junnyu({.channels = width, .max_length = longest, .query_key = s}));
}
GauEncoderConfig gau_alpha() {
  return gau_presets::gau_alpha_encoder({.vocabulary = vocabulary, .depth = 2, .masked_words = true},
                                        gau_presets::gau_alpha({.channels = width, .query_key = s}));
}

std::vector<GauEncoderConfig> configs() {
  std::vector<GauEncoderConfig> all{flash_quad(), gau_alpha(), flash_quad(), gau_alpha(), flash_quad()};
  all[2].head.form = HeadForm::none;
  all[2].position = PositionForm::sinusoid;
  all[3].token_types = 0;
  all[3].pad_token = -1;
  all[4].head.form = HeadForm::untied;
  all[4].trunk.depth = 0;
  all[4].embedding_norm = NormForm::layer_norm;
  return all;
}

/// Random tokens, none of which is the padding token 0.
std::vector<Index> random_words(Index count) { return random_tokens(count, vocabulary, 1); }

template <class T>
class GauEncoderOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GauEncoderOf, Scalars, );

TYPED_TEST(GauEncoderOf, EqualsItsFormula) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({7, 0, 12, 1});
  const std::vector<Index> tokens = random_words(20);
  const auto mask = test::random_mask(sequences, 3);
  for (const auto& config : configs()) {
    const auto model = random_layer<GauEncoder<T>>(config);
    std::vector<Index> types(config.token_types > 0 ? 20 : 0);
    for (std::size_t i = 0; i < types.size(); ++i) {
      types[i] = i % 3 == 0 ? 1 : 0;
    }
    Workspace<T> workspace, several(Threads{3});
    EXPECT_TRUE(near(model.forward(tokens, sequences, workspace), literal_model(model, tokens, sequences)));
    const Matrix<T> y = model.forward(tokens, sequences, workspace, mask, types);
    EXPECT_TRUE(near(y, literal_model(model, tokens, sequences, mask, types)));
    EXPECT_TRUE(same_bits(model.forward(tokens, sequences, several, mask, types), y));
    EXPECT_EQ(model.out(), config.head.form == HeadForm::none ? width : vocabulary);
  }
}

TYPED_TEST(GauEncoderOf, MasksPaddingByDefault) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({6, 8});
  std::vector<Index> tokens = random_words(14);
  std::vector<std::uint8_t> mask(14, 1);
  for (const std::size_t at : {4U, 5U, 12U, 13U}) {
    tokens[at] = 0;
    mask[at] = 0;
  }
  for (const auto& config : {flash_quad(), gau_alpha()}) {
    auto model = random_layer<GauEncoder<T>>(config);
    Workspace<T> workspace;
    const Matrix<T> y = model.forward(tokens, sequences, workspace);
    EXPECT_TRUE(same_bits(y, model.forward(tokens, sequences, workspace, mask)));
    EXPECT_TRUE(near(y, literal_model(model, tokens, sequences, mask)));
    const std::vector<std::uint8_t> all(14, 1);
    const Matrix<T> unmasked = model.forward(tokens, sequences, workspace, all);
    EXPECT_TRUE(near(unmasked, literal_model(model, tokens, sequences, all))) << "an explicit mask takes precedence";
    model.config.pad_token = -1;
    EXPECT_TRUE(near(model.forward(tokens, sequences, workspace), literal_model(model, tokens, sequences)));
  }
}

TEST(GauEncoder, InitializesPositionsAtTheScaleOfEmbeddings) {
  Random random(1);
  const GauEncoder<float> model(flash_quad(), random);
  EXPECT_FLOAT_EQ(model.position.scale(0), 0.02F) << "the deviation of the word embeddings";
}

TEST(GauEncoder, RefusesAllPaddingTextsOnlyWithSoftmax) {
  const std::vector<Index> tokens{0, 0, 3};
  const auto sequences = Sequences::of_lengths({2, 1});
  Workspace<float> workspace;
  const auto quad = random_layer<GauEncoder<float>>(flash_quad());
  EXPECT_TRUE(near(quad.forward(tokens, sequences, workspace), literal_model(quad, tokens, sequences, {0, 0, 1})));
  const auto alpha = random_layer<GauEncoder<float>>(gau_alpha());
  Matrix<float> y = untouched<float>(3, vocabulary);
  EXPECT_TRUE(
      refuses<ShapeError>([&] { alpha.forward(tokens, sequences, y, workspace); },
                          "LanguageModel::forward: the mask leaves no token of sequence 0 for the softmax to attend to"));
  EXPECT_TRUE(is_untouched(y));
  auto headless = gau_alpha();
  headless.head.form = HeadForm::none;
  const auto trunk = random_layer<GauEncoder<float>>(headless);
  Matrix<float> hidden = untouched<float>(3, trunk.out());
  EXPECT_TRUE(refuses<ShapeError>([&] { trunk.forward(tokens, sequences, hidden, workspace); },
                                  "LanguageModel::forward: the mask leaves no token of sequence 0"));
  EXPECT_TRUE(is_untouched(hidden)) << "without a head, the trunk writes to the output";
  const std::vector<std::uint8_t> none(3, 0);
  EXPECT_TRUE(refuses<ShapeError>([&] { alpha.forward(random_words(3), Sequences::single(3), y, workspace, none); },
                                  "LanguageModel::forward: the mask leaves no token of sequence 0"));
  EXPECT_TRUE(is_untouched(y));
}

TEST(GauEncoder, NamesTheTableThatIsTooShort) {
  auto config = flash_quad();
  config.max_length = 20;
  const auto model = random_layer<GauEncoder<float>>(config);
  Workspace<float> workspace;
  Matrix<float> y = untouched<float>(13, vocabulary);
  EXPECT_TRUE(refuses<ShapeError>([&] { model.forward(random_words(13), Sequences::single(13), y, workspace); },
                                  "LanguageModel::forward: sequence 0 of 1 has 13 tokens, expected 12 at most. Build the "
                                  "Toeplitz bias with a larger max_length, or choose relative_bias = t5 or none."));
  EXPECT_TRUE(is_untouched(y));
  EXPECT_EQ(model.longest(), 12);
}

/// Covers every norm, projection layout, position embedding and relative bias, with a tied head and without a head.
TEST(GauEncoder, ChargesItsParametersToTheBudget) {
  using Unit = GatedAttentionUnit<float>;
  for (const NormForm norm :
       {NormForm::none, NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt, NormForm::rms}) {
    for (const RelativeBiasForm bias : {RelativeBiasForm::none, RelativeBiasForm::t5, RelativeBiasForm::toeplitz}) {
      for (const PositionForm position : {PositionForm::none, PositionForm::sinusoid, PositionForm::sinusoid_table}) {
        for (const bool both : {false, true}) {
          const GatedAttentionUnitConfig unit{.channels = 6,
                                              .value = 5,
                                              .query_key = 4,
                                              .max_length = 8,
                                              .projection = both ? ProjectionLayout::fused : ProjectionLayout::separate,
                                              .bias = both,
                                              .offset_bias = !both,
                                              .norm = norm,
                                              .relative_bias = bias,
                                              .rotary = both ? Rotary::interleaved : Rotary::none,
                                              .residual = both ? Residual::scaled : Residual::plain};
          expect_fair_spending<Unit>(unit);
          const GauEncoderConfig config{.vocabulary = 9,
                                        .token_types = both ? 2 : 0,
                                        .position = position,
                                        .max_length = 7,
                                        .embedding_norm = norm,
                                        .head = {.form = both ? HeadForm::none : HeadForm::tied,
                                                 .dense = position == PositionForm::none,
                                                 .norm = norm,
                                                 .bias = norm != NormForm::none},
                                        .trunk = {.depth = 2, .block = unit}};
          expect_fair_spending<GauEncoder<float>>(config);
        }
      }
    }
  }
  const GatedAttentionUnitConfig narrowing{
      .channels = 6, .value = 5, .query_key = 4, .out = 3, .norm_position = NormPosition::post, .residual = Residual::none};
  expect_fair_spending<Unit>(narrowing);
}

TEST(GauEncoder, RefusesInvalidConfigurations) {
  const auto refuse = [](auto change, const std::string& part) {
    auto config = flash_quad();
    change(config);
    EXPECT_TRUE(refuses<ArgumentError>([&] { GauEncoder<float>{config}; }, part));
  };
  refuse([](auto& config) { config.vocabulary = 0; }, "vocabulary = 0");
  refuse([](auto& config) { config.trunk.depth = -1; }, "depth = -1");
  refuse([](auto& config) { config.token_types = -2; }, "token_types = -2");
  refuse([](auto& config) { config.max_length = 0; }, "max_length = 0");
  refuse(
      [](auto& config) {
        config.trunk.block.residual = Residual::none;
        config.trunk.block.out = 5;
      },
      "Stack: GatedAttentionUnit maps 6 channels to 5, expected equal input and output channels");
}

TEST(GauEncoder, StreamsIfItsScoresAreCausal) {
  auto config = flash_quad();
  config.trunk.block.causal = true;
  const auto model = random_layer<GauEncoder<float>>(config);
  const std::vector<Index> words = random_words(longest);
  Workspace<float> workspace;
  const Matrix<float> whole = model.forward(words, Sequences::single(longest), workspace);
  auto state = model.start();
  Matrix<float> y(1, vocabulary);
  for (Index t = 0; t < longest; ++t) {
    model.step(words[static_cast<std::size_t>(t)], state, y, workspace);
    EXPECT_TRUE(same_bits(y, whole.row(t))) << t;
  }
  EXPECT_TRUE(refuses<ArgumentError>([] { GauEncoder<float>(flash_quad()).start(); }, "Build it with causal = true"));
  config.trunk.block.score_scale = ScoreScale::length;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GauEncoder<float>(config).start(); }, "the length of the whole sequence"));
  config = gau_alpha();
  config.trunk.block.causal = true;
  EXPECT_TRUE(refuses<ArgumentError>([&] { GauEncoder<float>(config).start(longest); }, "the total number of keys"));
}

}  // namespace
}  // namespace gated::gau_encoder_test
