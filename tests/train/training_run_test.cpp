#include "gated/train/training_run.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gated/io/model_file.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/ops/bf16_products.hpp"
#include "gated/ops/int8_products.hpp"
#include "gated/train/next_token.hpp"
#include "gated/train/training.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"
#include "tests/train/regression.hpp"

namespace gated::training_run_test {
namespace {

using test::random_matrix;
using test::same_parameters;

using Model = GmlpLanguageModel<float>;

const Sequences sequences = Sequences::of_lengths({8, 5});
const std::vector<Index> tokens{1, 4, 2, 0, 3, 3, 1, 2, 4, 4, 0, 1, 2};

Training<Model> training_of(const TapeOptions& tape = {}, Index micro_batches = 1) {
  return Training<Model>(
      {.model = {.vocabulary = 5, .trunk = {.length = 8, .channels = 8, .hidden = 16, .depth = 2, .causal = true}},
       .optimizer = {.learning_rate = 1e-2},
       .micro_batches = micro_batches,
       .tape = tape},
      Random(1));
}

double step(Training<Model>& training) {
  const auto targets = next_token_targets(training.model, tokens, sequences);
  return training.step([&](auto& run) { return cross_entropy(run(training.model, tokens, sequences), targets); });
}

TEST(TrainingRun, EqualsAHandWrittenTape) {
  for (const TapeOptions& options : {TapeOptions{}, TapeOptions{.residual_dropout = 0.2}, TapeOptions{.recompute = true}}) {
    for (const Index micro_batches : {1, 3}) {
      Training<Model> training = training_of(options, micro_batches), by_hand = training;
      const auto targets = next_token_targets(by_hand.model, tokens, sequences);
      Tape<float> tape({}, options);
      for (int i = 0; i < 4; ++i) {
        const double expected = by_hand.step([&](const Model& model, Model& gradient) {
          tape.begin(model, gradient, by_hand.random);
          return tape.backward(cross_entropy(tape, record(tape, model, tokens, sequences), targets));
        });
        EXPECT_EQ(step(training), expected);
      }
      EXPECT_TRUE(same_parameters(training, by_hand));
      EXPECT_EQ(training.random.state(), by_hand.random.state());
    }
  }
}

Index products_offered = 0;

/// A product engine that counts the offered products and declines them all.
bool decline(const Operand<float>&, const Operand<float>&, const detail::gemm::TileFunction<float>&, Workspace<float>&, Index) {
  ++products_offered;
  return false;
}

TEST(TrainingRun, OffersItsProductsToAnEngine) {
  const ProductEngine<float> engine{&decline};
  Training<Model> in_float = training_of(), offering = in_float;
  offering.products = &engine;
  EXPECT_EQ(step(offering), step(in_float));
  EXPECT_TRUE(same_parameters(offering, in_float));
  EXPECT_GE(products_offered, 3 * 2 * 2) << "two blocks with two projections each: the forward pass and two gradients";
}

TEST(TrainingRun, RefusesEnginesForInference) {
  Training<Model> training = training_of();
  const Training<Model> before = training;
  training.products = int8_products();
  const std::string message = test::message_of<ArgumentError>([&] { step(training); });
  EXPECT_NE(message.find("int8_products()"), std::string::npos) << message;
  EXPECT_NE(message.find("Use bf16_products()"), std::string::npos) << message;
  EXPECT_TRUE(same_parameters(training, before));
  training.products = nullptr;
  EXPECT_GT(step(training), 0) << "the refused step left nothing behind";
  const auto targets = next_token_targets(training.model, tokens, sequences);
  const auto add = [&] {
    training.accumulate([&](auto& run) { return cross_entropy(run(training.model, tokens, sequences), targets); });
  };
  add();
  training.products = int8_products();
  EXPECT_THROW(add(), ArgumentError);
  EXPECT_THROW(training.update(), ArgumentError) << "the first gradient is dropped, too";
}

TEST(TrainingRun, ResumesToTheBitWithBf16Products) {
  if (bf16_products() == nullptr) {
    GTEST_SKIP() << "this processor has no AVX512-BF16";
  }
  const auto in_bf16 = [](Training<Model> training) {
    training.products = bf16_products();
    return training;
  };
  Training<Model> straight = in_bf16(training_of()), in_float = training_of();
  step(straight);
  step(in_float);
  EXPECT_FALSE(same_parameters(straight, in_float)) << "the engine is used";
  const auto path = test::temporary("bf16.training.safetensors");
  save_model(straight, path);
  Training<Model> resumed = in_bf16(load_model<Training<Model>>(path));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(step(resumed), step(straight));
  }
  EXPECT_TRUE(same_parameters(resumed, straight));
}

TEST(TrainingRun, AppliesTheConfiguredDropout) {
  Training<Model> plain = training_of(), dropping = training_of({.residual_dropout = 0.5});
  EXPECT_NE(step(plain), step(dropping));
  EXPECT_THROW(training_of({.residual_dropout = 1}), ArgumentError);
}

TEST(TrainingRun, RunsConsecutiveLayers) {
  using Trunk = Gmlp<double>;
  Training<Trunk> training({.model = {.length = 6, .channels = 4, .hidden = 8}}, Random(1)), at_once = training;
  const Matrix<double> x = random_matrix<double>(12, 4, 1), target = random_matrix<double>(12, 4, 2);
  const Sequences two = Sequences::uniform(2, 6);
  const std::vector<std::uint8_t> observed(48, 1);
  const double loss = training.step([&](auto& run) {
    const auto& block = training.model.blocks[0];
    const auto y = run(block, run(training.model, x, two), two);
    EXPECT_EQ(y.values().rows(), 12);
    return regression_loss(y, target, {}, observed);
  });
  Tape<double> tape;
  const double expected = at_once.step([&](const Trunk& model, Trunk& gradient) {
    tape.begin(model, gradient);
    const Variable y = record(tape, model.blocks[0], record(tape, model, tape.constant(x), two), two);
    return tape.backward(regression_loss(tape, y, target, {}, observed));
  });
  EXPECT_EQ(loss, expected);
  EXPECT_TRUE(same_parameters(training.model, at_once.model));
}

TEST(TrainingRun, RunsModelsWithOneRowPerItem) {
  using Classifier = GmlpImageClassifier<float>;
  Training<Classifier> training(
      {.model = {.image = {4, 4}, .patch = {2, 2}, .image_channels = 1, .classes = 3, .trunk = {.channels = 4, .hidden = 8}},
       .optimizer = {.learning_rate = 0.05}},
      Random(1));
  const Matrix<float> images = random_matrix<float>(6, 16, 1);
  const std::vector<Index> labels{0, 1, 2, 0, 1, 2};
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    last = training.step([&](auto& run) { return cross_entropy(run(training.model, images), labels); });
    first = i == 0 ? last : first;
  }
  EXPECT_LT(last, 0.5 * first);
}

TEST(TrainingRun, ACopyContinuesIndependently) {
  Training<Model> training = training_of();
  step(training);
  Training<Model> copy = training;
  EXPECT_EQ(step(copy), step(training));
  EXPECT_TRUE(same_parameters(copy, training));
  copy = training_of();
  Training<Model> fresh = training_of();
  EXPECT_EQ(step(copy), step(fresh));
}

TEST(TrainingRun, AWarmStepAllocatesNothing) {
  Training<Model> training = training_of({.attention_dropout = 0.1, .residual_dropout = 0.1});
  const auto targets = next_token_targets(training.model, tokens, sequences);
  const auto one = [&] {
    training.step([&](auto& run) { return cross_entropy(run(training.model, tokens, sequences), targets); });
  };
  one();
  one();
  EXPECT_EQ(test::allocations_during(one), 0);
}

}  // namespace
}  // namespace gated::training_run_test
