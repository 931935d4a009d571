#include "gated/models/gmlp_language_model.hpp"

#include <gtest/gtest.h>

#include "gmlps.hpp"

namespace gated {
namespace {

using test::message_of;
using test::near;
using test::random_model;
using test::same_bits;
using test::small_gmlps;
using test::wide;

using Model = GmlpLanguageModel<float>;
using Ids = std::vector<Index>;

const Ids text_of_12{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

std::vector<GmlpLanguageModelConfig> small_models(bool causal = true) {
  std::vector<GmlpLanguageModelConfig> configs;
  for (const GmlpConfig& trunk : small_gmlps(causal)) {
    const bool odd = configs.size() % 2 == 1;
    configs.push_back({.vocabulary = 11, .final_norm = configs.size() % 3 != 2, .tied = !odd, .trunk = trunk});
  }
  return configs;
}

Matrix<float> run(const Model& model, const Ids& ids, const Sequences& sequences, int threads = 1) {
  Workspace<float> workspace(Threads{threads});
  return model.forward(ids, sequences, workspace);
}

TEST(GmlpLanguageModel, EqualsItsFormula) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    Matrix<double> x(12, config.trunk.channels);
    for (Index t = 0; t < 12; ++t) {
      x.row(t) = wide<float>(model.embedding.weight.row(text_of_12[static_cast<std::size_t>(t)]));
    }
    for (const auto& block : model.trunk.blocks) {
      x = literal::block(block, x, Sequences::single(12));
    }
    x = config.final_norm ? literal::layer_norm(model.head.norm, x) : x;
    const Matrix<double> logits = model.head.output ? literal::linear(*model.head.output, x)
                                                    : Matrix<double>(x * wide(model.embedding.weight).transpose());
    EXPECT_TRUE(near(run(model, text_of_12, Sequences::single(12)), logits, 1e-4)) << test::describe(config.trunk);
  }
}

TEST(GmlpLanguageModel, ARaggedBatchEqualsItsTextsOneByOneToTheBit) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const auto sequences = Sequences::of_lengths({5, 1, 12, 0});
    Ids ids(text_of_12.begin(), text_of_12.begin() + 6);
    ids.insert(ids.end(), text_of_12.begin(), text_of_12.end());
    const Matrix<float> logits = run(model, ids, sequences, 2);
    for (Index b = 0; b < sequences.count(); ++b) {
      const auto first = ids.begin() + sequences.offset(b);
      const Matrix<float> alone = run(model, Ids(first, first + sequences.length(b)), Sequences::single(sequences.length(b)));
      EXPECT_TRUE(same_bits(logits.middleRows(sequences.offset(b), sequences.length(b)), alone))
          << test::describe(config.trunk) << ": text " << b;
    }
  }
}

TEST(GmlpLanguageModel, PredictionsNeverDependOnLaterTokens) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const Matrix<float> logits = run(model, text_of_12, Sequences::single(12));
    for (std::size_t t = 0; t < 12; ++t) {
      Ids changed = text_of_12;
      changed[t] = 10;
      const Matrix<float> other = run(model, changed, Sequences::single(12));
      EXPECT_TRUE(same_bits(other.topRows(static_cast<Index>(t)), logits.topRows(static_cast<Index>(t))));
      EXPECT_FALSE(same_bits(other.row(static_cast<Index>(t)), logits.row(static_cast<Index>(t))));
    }
  }
}

TEST(GmlpLanguageModel, StepsEqualTheRowsOfTheBatch) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const Matrix<float> logits = run(model, text_of_12, Sequences::single(12));
    Workspace<float> workspace;
    auto state = model.start();
    Matrix<float> row(1, 11);
    for (Index t = 0; t < 12; ++t) {
      model.step(text_of_12[static_cast<std::size_t>(t)], state, row, workspace);
      EXPECT_TRUE(near(row, wide<float>(logits.row(t)))) << test::describe(config.trunk) << ": token " << t;
    }
  }
}

TEST(GmlpLanguageModel, APrefillGivesAllPredictionsOrTheLast) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const Matrix<float> logits = run(model, text_of_12, Sequences::single(12));
    Workspace<float> workspace;
    auto all = model.start(), last = model.start();
    Matrix<float> seven(7, 11), one(1, 11);
    model.prefill(Tokens(text_of_12).first(7), all, seven, workspace);
    model.prefill(Tokens(text_of_12).first(7), last, one, workspace);
    EXPECT_TRUE(near(seven, wide<float>(logits.topRows(7)))) << test::describe(config.trunk);
    EXPECT_TRUE(same_bits(one, seven.row(6))) << test::describe(config.trunk);
    EXPECT_EQ(all.position(), 7);
    model.step(text_of_12[7], last, one, workspace);
    EXPECT_TRUE(near(one, wide<float>(logits.row(7)))) << test::describe(config.trunk);
  }
}

TEST(GmlpLanguageModel, APrefillOfNoTokensChangesNothing) {
  const auto model = random_model<Model>(small_models()[6]);
  Workspace<float> workspace;
  auto state = model.start();
  Matrix<float> none(0, 11), one(1, 11);
  model.prefill({}, state, none, workspace);
  EXPECT_EQ(state.position(), 0);
  EXPECT_THROW(model.prefill({}, state, one, workspace), ShapeError) << "there is no last prediction";
}

TEST(GmlpLanguageModel, RefusesBadTextsBeforeWriting) {
  for (const auto& config : small_models(false)) {
    const auto model = random_model<Model>(config);
    Workspace<float> workspace;
    const auto refuse = [&](const Ids& ids, const Sequences& sequences, Index rows, Index columns) {
      Matrix<float> logits = test::sentinel<float>(rows, columns);
      EXPECT_THROW(model.forward(ids, sequences, logits, workspace), Error) << test::describe(config.trunk);
      EXPECT_TRUE(test::is_sentinel(logits));
    };
    Ids unknown = text_of_12;
    unknown[11] = 11;
    refuse(unknown, Sequences::single(12), 12, 11);
    unknown[11] = -1;
    refuse(unknown, Sequences::single(12), 12, 11);
    refuse(text_of_12, Sequences::single(11), 12, 11);
    refuse(text_of_12, Sequences::of_lengths({6, 6}), 12, 11);
    refuse(text_of_12, Sequences::single(12), 11, 11);
    refuse(text_of_12, Sequences::single(12), 12, 10);
  }
}

TEST(GmlpLanguageModel, RefusesBadStepsAndLeavesTheStateUnchanged) {
  for (const auto& config : small_models()) {
    const auto model = random_model<Model>(config);
    const Matrix<float> logits = run(model, text_of_12, Sequences::single(12));
    Workspace<float> workspace;
    auto state = model.start();
    Matrix<float> ten(10, 11), one = test::sentinel<float>(1, 11);
    model.prefill(Tokens(text_of_12).first(10), state, ten, workspace);
    const auto refuse = [&](const Ids& ids, Index rows, Index columns) {
      Matrix<float> y = test::sentinel<float>(rows, columns);
      EXPECT_THROW(model.prefill(ids, state, y, workspace), Error) << test::describe(config.trunk);
      EXPECT_TRUE(test::is_sentinel(y));
      EXPECT_EQ(state.position(), 10);
    };
    refuse({1, 2, 3}, 3, 11);  // past the end
    refuse({1, 11}, 2, 11);    // an unknown token after a known one
    refuse({-1}, 1, 11);
    refuse({1}, 2, 11);
    refuse({1}, 1, 10);
    EXPECT_THROW(model.step(11, state, one, workspace), ArgumentError);
    EXPECT_TRUE(test::is_sentinel(one));

    Matrix<float> two(2, 11);
    model.prefill(Tokens(text_of_12).last(2), state, two, workspace);
    EXPECT_TRUE(near(two, wide<float>(logits.bottomRows(2))))
        << test::describe(config.trunk) << ": as if nothing had been asked";
    EXPECT_THROW(model.step(1, state, one, workspace), ShapeError);
    EXPECT_EQ(state.position(), 12);
    EXPECT_TRUE(test::is_sentinel(one));
  }
}

TEST(GmlpLanguageModel, SaysWhatIsWrongWithAToken) {
  const auto model = random_model<Model>(small_models()[0]);
  Workspace<float> workspace;
  auto state = model.start();
  Matrix<float> one(1, 11);
  EXPECT_EQ(message_of<ArgumentError>([&] { model.step(11, state, one, workspace); }),
            "Embedding::forward: token 0 has id 11, expected 0 … 10.");
  Matrix<float> many(13, 11);
  EXPECT_EQ(message_of<ShapeError>([&] { model.prefill(Ids(13, 1), state, many, workspace); }),
            "GmlpLanguageModel::prefill: 13 tokens from position 0 on go past the 12 tokens that the model was built for. "
            "Resize its spatial weights with resize_length(), rewind, or start anew.");
}

TEST(GmlpLanguageModel, RefusesToStreamUnlessItIsCausal) { EXPECT_THROW(Model(small_models(false)[0]).start(), ArgumentError); }

TEST(GmlpLanguageModel, GivesNothingForAnEmptyBatch) {
  const Matrix<float> logits = run(random_model<Model>(small_models(false)[4]), {}, Sequences::uniform(0, 12));
  EXPECT_EQ(logits.rows(), 0);
  EXPECT_EQ(logits.cols(), 11);
}

TEST(GmlpLanguageModel, RefusesToBeBuiltWithoutAVocabulary) {
  GmlpLanguageModelConfig config = small_models()[0];
  config.vocabulary = 0;
  EXPECT_THROW(Model{config}, ArgumentError);
  config.vocabulary = -5;
  EXPECT_THROW(Model{config}, ArgumentError);
}

}  // namespace
}  // namespace gated
