#include "gated/models/gmlp.hpp"

#include <gtest/gtest.h>

#include "gated/core/summary.hpp"
#include "gmlps.hpp"

// Tests specific to gMLP as a language model; language_model_test.cpp tests all language models.

namespace gated::gmlp_language_model_test {
namespace {

using test::message_of;
using test::random_model;
using test::small_gmlps;

using Model = GmlpLanguageModel<float>;
using Ids = std::vector<Index>;

const Ids text_of_12{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

std::vector<GmlpLanguageModelConfig> small_models(bool causal) {
  std::vector<GmlpLanguageModelConfig> configs;
  for (const GmlpConfig& trunk : small_gmlps(causal)) {
    configs.push_back({.vocabulary = 11, .trunk = trunk});
  }
  return configs;
}

TEST(GmlpLanguageModel, DefaultsToThePaper) {
  const Model model(small_models(true)[0]);
  EXPECT_STREQ(Model::architecture, "gated.LanguageModel<gated.Stack<gated.GmlpBlock>>");
  EXPECT_FALSE(model.type_embedding);
  EXPECT_EQ(model.position.form, PositionForm::none);
  EXPECT_EQ(model.embedding_norm.form, NormForm::none);
  ASSERT_TRUE(model.head);
  EXPECT_FALSE(model.head->output) << "tied to the embedding";
  EXPECT_FALSE(model.head->dense);
  EXPECT_EQ(model.head->bias.size(), 0);
  EXPECT_EQ(model.head->norm.form, NormForm::layer_norm);
}

TEST(GmlpLanguageModel, RefusesToRunIfMovedFrom) {
  auto model = random_model<Model>(small_models(true)[0]);
  const Model moved = std::move(model);
  Workspace<float> workspace;
  EXPECT_EQ(message_of<ArgumentError>([&] { model.forward(text_of_12, Sequences::single(12), workspace); }),
            "LanguageModel::forward: the weights are empty, perhaps moved from. Use the model they were moved to.");
  EXPECT_NO_THROW(moved.forward(text_of_12, Sequences::single(12), workspace));
}

TEST(GmlpLanguageModel, SummaryWarnsIfNotCausal) {
  EXPECT_NE(summary(Model(small_models(false)[0])).find("\nnot causal: it can neither learn to predict the next token"),
            std::string::npos);
  EXPECT_EQ(summary(Model(small_models(true)[0])).find("causal"), std::string::npos);
}

TEST(GmlpLanguageModel, RefusesOtherLengthsBeforeWriting) {
  for (const auto& config : small_models(false)) {
    const auto model = random_model<Model>(config);
    Workspace<float> workspace;
    const auto refuse = [&](const Ids& ids, const Sequences& sequences) {
      Matrix<float> logits = test::sentinel<float>(static_cast<Index>(ids.size()), 11);
      const std::string said = message_of<ShapeError>([&] { model.forward(ids, sequences, logits, workspace); });
      EXPECT_EQ(said.rfind("LanguageModel::forward: ", 0), 0u) << said;
      EXPECT_NE(said.find(" tokens, expected 12. Resize the spatial weight"), std::string::npos) << said;
      EXPECT_TRUE(test::is_sentinel(logits)) << test::describe(config.trunk);
    };
    refuse(text_of_12, Sequences::of_lengths({6, 6}));
    refuse(Ids(13, 1), Sequences::single(13));
    refuse(Ids(11, 1), Sequences::single(11));
  }
}

TEST(GmlpLanguageModel, ExplainsInvalidTokens) {
  const auto model = random_model<Model>(small_models(true)[0]);
  Workspace<float> workspace;
  auto state = model.start();
  Matrix<float> one(1, 11);
  EXPECT_EQ(message_of<ArgumentError>([&] { model.step(11, state, one, workspace); }),
            "LanguageModel::step: token 0 has id 11, expected 0 … 10.");
  Matrix<float> many(13, 11);
  EXPECT_EQ(message_of<ShapeError>([&] { model.extend(Ids(13, 1), state, many, workspace); }),
            "LanguageModel::extend: 13 tokens from position 0 exceed the 12 tokens that the model can serve. Rewind the "
            "state, or change the model. Resize the spatial weight with resize_length(); for shorter sequences, "
            "length_policy = slice uses its corner.");
}

TEST(GmlpLanguageModel, RewindsToAnyEarlierToken) {
  for (const auto& config : small_models(true)) {
    const auto model = random_model<Model>(config);
    Workspace<float> workspace;
    const Matrix<float> logits = model.forward(text_of_12, Sequences::single(12), workspace);
    auto state = model.start();
    Matrix<float> y(12, 11), one(1, 11);
    for (const Index back : {12, 7, 0}) {
      const auto rest = Tokens(text_of_12).subspan(static_cast<std::size_t>(state.position()));
      model.extend(rest, state, y.bottomRows(12 - state.position()), workspace);
      EXPECT_TRUE(test::same_bits(y, logits)) << test::describe(config.trunk);
      state.rewind(back);
      if (back > 0 && back < 12) {
        model.step(10, state, one, workspace);  // a wrong token, undone by rewind()
        state.rewind(back);
      }
    }
  }
}

}  // namespace
}  // namespace gated::gmlp_language_model_test
