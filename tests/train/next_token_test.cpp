#include "gated/train/next_token.hpp"

#include <gtest/gtest.h>

#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/train/recording.hpp"
#include "tests/core/numbers.hpp"

namespace gated::next_token_test {
namespace {

using test::message_of;

const std::vector<Index> tokens{4, 2, 7, 1, 3, 3, 5};
constexpr Index none = CrossEntropyOptions{}.ignored;

GmlpLanguageModelConfig gmlp_config(bool causal) {
  return {.vocabulary = 8, .trunk = {.length = 7, .channels = 10, .hidden = 8, .causal = causal}};
}

TEST(NextTokenTargets, AreTheNextTokensInEachSequence) {
  const GmlpLanguageModel<float> model(gmlp_config(true));
  EXPECT_EQ(next_token_targets(model, tokens, Sequences::single(7)), (std::vector<Index>{2, 7, 1, 3, 3, 5, none}));
  EXPECT_EQ(next_token_targets(model, tokens, Sequences::of_lengths({3, 0, 1, 3})),
            (std::vector<Index>{2, 7, none, none, 3, 5, none}));
  EXPECT_TRUE(next_token_targets(model, {}, Sequences::of_lengths({})).empty());
}

TEST(NextTokenTargets, ExcludePadding) {
  FlashLanguageModelConfig config{
      .vocabulary = 8, .pad_token = 3, .trunk = {.block = {.channels = 4, .value = 4, .query_key = 4, .causal = true}}};
  const FlashLanguageModel<float> model(config);
  EXPECT_EQ(next_token_targets(model, tokens, Sequences::single(7)), (std::vector<Index>{2, 7, 1, none, none, 5, none}));
}

TEST(NextTokenTargets, RefuseModelsThatAreNotCausal) {
  const GmlpLanguageModel<float> sighted(gmlp_config(false));
  const std::string message = message_of<ArgumentError>([&] { next_token_targets(sighted, tokens, Sequences::single(7)); });
  EXPECT_TRUE(message.starts_with("next_token_targets: this LanguageModel is not causal")) << message;
  EXPECT_NE(message.find("causal = true"), std::string::npos);

  // A scaled Toeplitz weight is always causal; the other layers of the block need not be.
  GmlpLanguageModelConfig scaled = gmlp_config(false);
  scaled.trunk.spatial = SpatialForm::scaled_toeplitz;
  EXPECT_EQ(next_token_targets(GmlpLanguageModel<float>(scaled), tokens, Sequences::single(7)).size(), 7u);
  scaled.trunk.token_shift = 1;
  EXPECT_THROW(next_token_targets(GmlpLanguageModel<float>(scaled), tokens, Sequences::single(7)), ArgumentError);
  scaled.trunk.token_shift = 0;
  scaled.trunk.attention_width = 4;
  EXPECT_THROW(next_token_targets(GmlpLanguageModel<float>(scaled), tokens, Sequences::single(7)), ArgumentError);

  FlashLanguageModelConfig flash{.vocabulary = 8, .trunk = {.block = {.channels = 4, .value = 4, .query_key = 4}}};
  flash.trunk.block.causal = false;
  EXPECT_THROW(next_token_targets(FlashLanguageModel<float>(flash), tokens, Sequences::single(7)), ArgumentError);
}

TEST(NextTokenTargets, RefuseMismatchedSizes) {
  const GmlpLanguageModel<float> model(gmlp_config(true));
  std::vector<Index> few(6);
  EXPECT_THROW(next_token_targets(model, tokens, Sequences::single(7), few), ShapeError);
  EXPECT_THROW(next_token_targets(model, tokens, Sequences::single(6)), ShapeError);
}

/// Expects that is_causal() is true if and only if a later token changes no earlier output.
TEST(NextTokenTargets, IsCausalMatchesTheBehaviourOfTheModel) {
  for (const bool causal : {false, true}) {
    for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
      for (const Index attention : {Index{0}, Index{4}}) {
        for (const Index shift : {Index{0}, Index{2}}) {
          GmlpLanguageModelConfig config = gmlp_config(causal);
          config.trunk.spatial = form;
          config.trunk.attention_width = attention;
          config.trunk.token_shift = shift;
          Random random(1);
          GmlpLanguageModel<double> model(config, random);
          for_each_parameter(
              [&](const ParameterInfo& info, auto values) {
                if (info.role == Role::spatial) {
                  fill_normal(values, 0.5, random);
                }
              },
              model);
          Workspace<double> workspace;
          std::vector<Index> other = tokens;
          other.back() = 0;
          const Matrix<double> a = model.forward(tokens, Sequences::single(7), workspace);
          const Matrix<double> b = model.forward(other, Sequences::single(7), workspace);
          EXPECT_EQ(a.topRows(6) == b.topRows(6), model.is_causal()) << causal << name_of(form) << attention << shift;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gated::next_token_test
