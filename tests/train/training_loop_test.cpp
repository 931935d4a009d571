#include "gated/train.hpp"

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

/// Tests whole training runs with a user-written loop, on small tasks.

namespace gated::training_loop_test {
namespace {

/// A batch of texts in which each token determines the next token. batch_of() cycles through four batches.
struct Batch {
  std::vector<Index> tokens, targets;
};

Batch batch_of(Index step, Index count, Index length) {
  Batch batch;
  Random random(static_cast<std::uint64_t>(step % 4));
  for (Index b = 0; b < count; ++b) {
    Index token = static_cast<Index>(random.bits() % 7);
    for (Index t = 0; t < length; ++t) {
      batch.tokens.push_back(token);
      token = (3 * token + 1) % 7;
      batch.targets.push_back(token);
    }
  }
  return batch;
}

/// One step of the loop.
template <class Model>
double learn(Training<Model>& training, Tape<float>& tape, const Batch& batch, const Sequences& sequences) {
  return training.step([&](const Model& model, Model& gradient) {
    tape.begin(model, gradient, training.random);
    return tape.backward(cross_entropy(tape, record(tape, model, batch.tokens, sequences), batch.targets));
  });
}

template <class Model>
void expect_learning(const typename Model::Config& config, const TapeOptions& options = {}) {
  Training<Model> training({.model = config,
                            .optimizer = {.learning_rate = 1e-2},
                            .schedule = {.form = ScheduleForm::cosine, .warmup = 10, .steps = 200},
                            .clip_norm = 1.0,
                            .average_decay = 0.9},
                           Random(1));
  Tape<float> tape(Threads{1}, options);
  const Sequences sequences = Sequences::uniform(3, 8);
  const double first = learn(training, tape, batch_of(0, 3, 8), sequences);
  double last = first;
  while (training.steps_done() < 200) {
    last = learn(training, tape, batch_of(training.steps_done(), 3, 8), sequences);
  }
  EXPECT_NEAR(first, std::log(7.0), 0.6);
  EXPECT_LT(last, 0.15);

  const Batch batch = batch_of(1, 3, 8);
  EXPECT_EQ(test::allocations_during([&] { learn(training, tape, batch, sequences); }), 0);
}

GmlpLanguageModelConfig gmlp_config() {
  return {.vocabulary = 7, .trunk = {.length = 8, .channels = 16, .hidden = 32, .depth = 2, .causal = true}};
}

FlashLanguageModelConfig flash_config() {
  return {.vocabulary = 7,
          .position = PositionForm::sinusoid,
          .trunk = {.depth = 2, .block = flash_presets::lucidrains({.channels = 16, .query_key = 8, .chunk = 4})}};
}

TEST(TrainingLoop, TrainsAGmlp) { expect_learning<GmlpLanguageModel<float>>(gmlp_config()); }

TEST(TrainingLoop, TrainsAnAmlpWithNoise) {
  auto config = gmlp_config();
  config.trunk.attention_width = 8;
  config.trunk.drop_path = 0.1;
  expect_learning<GmlpLanguageModel<float>>(config, {.recompute = true,
                                                     .attention_dropout = 0.05,
                                                     .embedding_dropout = 0.05,
                                                     .residual_dropout = 0.05,
                                                     .scaled_depth = true});
}

TEST(TrainingLoop, TrainsAFlash) {
  expect_learning<FlashLanguageModel<float>>(flash_config());
  expect_learning<FlashLanguageModel<float>>(flash_config(), {.recompute = true, .attention_dropout = 0.05});
}

TEST(TrainingLoop, TrainsOtherTrunks) {
  expect_learning<LanguageModel<Stack<TransformerBlock<float>>>>(
      {.vocabulary = 7,
       .position = PositionForm::sinusoid,
       .trunk = {.depth = 2, .block = {.channels = 16, .token_mixer = {.heads = 2, .causal = true}}}});
  expect_learning<LanguageModel<Stack<GluTransformerBlock<float>>>>(
      {.vocabulary = 7,
       .position = PositionForm::sinusoid,
       .trunk = {.depth = 2,
                 .block = {.channels = 16, .token_mixer = {.heads = 2, .causal = true}, .channel_mixer = {.hidden = 24}}}});
}

TEST(TrainingLoop, ANonFiniteLossStopsTheLoopAndNamesAParameter) {
  Training<GmlpLanguageModel<float>> training({.model = gmlp_config()}, Random(1));
  Tape<float> tape;
  const Sequences sequences = Sequences::uniform(3, 8);
  const Batch batch = batch_of(0, 3, 8);
  learn(training, tape, batch, sequences);
  const float kept = training.model.trunk.blocks[1].proj_in.weight(3, 4);
  training.model.trunk.blocks[1].proj_in.weight(3, 4) = std::numeric_limits<float>::infinity();
  const std::string message = test::message_of<TrainingError>([&] { learn(training, tape, batch, sequences); });
  EXPECT_NE(message.find("step 2"), std::string::npos) << message;
  EXPECT_NE(message.find("the loss"), std::string::npos) << message;
  EXPECT_NE(message.find("weight["), std::string::npos) << message;  // names a parameter and an element
  EXPECT_EQ(training.steps_done(), 1);
  training.model.trunk.blocks[1].proj_in.weight(3, 4) = kept;
  learn(training, tape, batch, sequences);  // continues
  EXPECT_EQ(training.steps_done(), 2);
}

TEST(TrainingLoop, RefusesInvalidLabelsBeforeAnyChange) {
  Training<GmlpLanguageModel<float>> training({.model = gmlp_config()}, Random(1));
  Tape<float> tape;
  const auto before = training.model;
  Batch batch = batch_of(0, 3, 8);
  batch.targets[5] = 7;
  EXPECT_THROW(learn(training, tape, batch, Sequences::uniform(3, 8)), ArgumentError);
  EXPECT_EQ(training.steps_done(), 0);
  for_each_parameter([](const ParameterInfo& info, auto a,
                        auto b) { EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << info.path(); },
                     before, training.model);
}

}  // namespace
}  // namespace gated::training_loop_test
