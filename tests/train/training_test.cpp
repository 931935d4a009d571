#include "gated/train/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/train/regression.hpp"

namespace gated::training_test {
namespace {

using test::message_of;
using test::regress;
using test::Regression;
using test::RegressionLoss;
using test::same_parameters;

using Config = TrainingConfig<Regression<float>>;

/// A configuration with every option enabled.
Config busy_config() {
  return {
      .model = {.in = 5, .out = 3},
      .optimizer = {.learning_rate = 0.05, .weight_decay = 0.1, .groups = {{.path = "layer.bias", .learning_rate_factor = 2}}},
      .schedule = {.form = ScheduleForm::cosine, .warmup = 5, .steps = 40, .final_fraction = 0.1},
      .clip_norm = 0.5,
      .average_decay = 0.9,
      .micro_batches = 2};
}

/// Expects bit-equal models, moments and averages, and equal generators and numbers of steps.
template <class T>
void expect_same(const Training<Regression<T>>& a, const Training<Regression<T>>& b) {
  EXPECT_TRUE(same_parameters(a, b));
  EXPECT_EQ(a.steps_done(), b.steps_done());
  EXPECT_EQ(a.random.state(), b.random.state());
}

TEST(Training, SolvesARegression) {
  Training<Regression<double>> training({.optimizer = {.learning_rate = 0.05, .weight_decay = 0},
                                         .schedule = {.form = ScheduleForm::cosine, .warmup = 10, .steps = 400}},
                                        Random(1));
  const double first = regress(training, 16);
  double last = first;
  while (training.steps_done() < 400) {
    last = regress(training, 16);
  }
  EXPECT_GT(first, 0.5);
  EXPECT_LT(last, 1e-6);
  EXPECT_NEAR(training.model.layer.weight(1, 0), -1, 1e-3);
  EXPECT_NEAR(training.model.layer.bias(0), 0.5, 1e-3);
}

TEST(Training, ParametersAreModelMomentsAndAverage) {
  using T = Training<test::Regression<float>>;
  for (const double decay : {0.0, 0.9}) {
    const T::Config config{.model = {.in = 5, .out = 4}, .average_decay = decay};
    EXPECT_EQ(parameter_count(T(config)), (decay > 0 ? 4 : 3) * 24);
  }
}

TEST(Training, RefusesHugeModelsBeforeAllocating) {
  using T = Training<test::Regression<float>>;
  EXPECT_THROW(T(T::Config{.model = {.in = Count::most, .out = 4}}), MemoryError);
  const ParameterBudget budget(24, "too many values");
  EXPECT_NO_THROW(T(T::Config{.model = {.in = 5, .out = 4}}));
  EXPECT_THROW(T(T::Config{.model = {.in = 5, .out = 4}}), FileError) << "the first model used the whole budget";
}

TEST(Training, StartsFromTheGivenModelAndGenerator) {
  Random random(7);
  const Regression<float> model({}, random);
  const Training<Regression<float>> made({}, Random(7));
  EXPECT_TRUE(same_parameters(made.model, model));
  EXPECT_EQ(made.random.state(), random.state());
  const Training<Regression<float>> given({.model = {.in = 99}}, model, random);
  expect_same(made, given);
  EXPECT_EQ(given.config().model.in, 3) << "the configuration comes from the model";
  EXPECT_EQ(given.steps_done(), 0);
}

TEST(Training, AStepEqualsItsPartsCalledByHand) {
  Training<Regression<double>> training({.optimizer = {.weight_decay = 0.1},
                                         .schedule = {.form = ScheduleForm::linear, .warmup = 2, .steps = 9},
                                         .clip_norm = 0.5,
                                         .average_decay = 0.9},
                                        Random(1));
  Regression<double> model = training.model;
  Regression<double> average = model;
  AdamW<Regression<double>> optimizer(model, {.weight_decay = 0.1});
  Random random = training.random;
  for (Index step = 0; step < 9; ++step) {
    Regression<double> gradient = zeros_like(model);
    const double loss = RegressionLoss<double>{random}(model, gradient);
    const double norm = clip_by_global_norm(gradient, 0.5);
    const double rate = learning_rate({.form = ScheduleForm::linear, .warmup = 2, .steps = 9}, 1e-3, step);
    EXPECT_EQ(training.rate(), rate);
    optimizer.update(model, gradient, rate);
    update_average(average, model, 0.9);
    EXPECT_EQ(regress(training), loss);
    EXPECT_EQ(training.norm(), norm);
    EXPECT_TRUE(same_parameters(training.model, model));
    EXPECT_TRUE(same_parameters(*training.average, average));
    EXPECT_EQ(&training.result(), &*training.average);
  }
}

TEST(Training, MicroBatchesEqualOneBatch) {
  // Two consecutive micro-batches of 3 rows are one batch of 6.
  for (const double clip_norm : {0.0, 0.1}) {
    TrainingConfig<Regression<double>> config{.clip_norm = clip_norm};
    Training<Regression<double>> whole(config, Random(1));
    Training<Regression<double>> by_hand(config, Random(1));
    config.micro_batches = 2;
    Training<Regression<double>> by_step(config, Random(1));
    for (int step = 0; step < 5; ++step) {
      const double loss = regress(whole, 6);
      double sum = 0;
      for (int i = 0; i < 2; ++i) {
        sum += by_hand.accumulate(RegressionLoss<double>{by_hand.random, 3});
      }
      EXPECT_EQ(by_hand.update(), sum / 2);
      EXPECT_EQ(regress(by_step, 3), sum / 2);
      EXPECT_NEAR(sum / 2, loss, 1e-14);
      EXPECT_NEAR(by_hand.norm(), whole.norm(), 1e-13);
    }
    expect_same(by_hand, by_step);
    EXPECT_LT((by_hand.model.layer.weight - whole.model.layer.weight).cwiseAbs().maxCoeff(), 1e-13);
    EXPECT_EQ(by_hand.steps_done(), 5);
  }
}

TEST(Training, FrozenParametersStayAndAddNothingToTheNorm) {
  Training<Regression<float>> training({.optimizer = {.groups = {{.path = "layer.weight", .frozen = true}}}, .clip_norm = 1},
                                       Random(1));
  const Regression<float> start = training.model;
  training.step([](const auto&, auto& gradient) {
    gradient.layer.weight.setConstant(std::numeric_limits<float>::infinity());
    gradient.layer.bias.setConstant(3);
    return 1.0;
  });
  EXPECT_TRUE(test::same_bits(training.model.layer.weight, start.layer.weight));
  EXPECT_FALSE(test::same_bits(training.model.layer.bias, start.layer.bias));
  EXPECT_NEAR(training.norm(), 3 * std::sqrt(2.0), 1e-6);
}

TEST(Training, HookSeesTheMeanGradientBeforeClipping) {
  Training<Regression<double>> plain({.clip_norm = 1e-3, .micro_batches = 2}, Random(3)), hooked = plain;
  std::vector<std::string> paths;
  double squares = 0;
  int calls = 0;
  hooked.set_gradient_hook([&](const Regression<double>& gradient) {
    ++calls;
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          paths.push_back(info.path());
          for (const double g : values) {
            squares += g * g;
          }
        },
        gradient);
  });
  EXPECT_EQ(regress(plain), regress(hooked));
  EXPECT_EQ(calls, 1) << "once per update, not per micro-batch";
  EXPECT_EQ(paths, (std::vector<std::string>{"layer.weight", "layer.bias"}));
  EXPECT_NEAR(std::sqrt(squares), hooked.norm(), 1e-12);
  EXPECT_GT(hooked.norm(), 1e-3);
  hooked.set_gradient_hook(nullptr);
  regress(plain);
  regress(hooked);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(same_parameters(plain, hooked));
}

TEST(Training, RefusesNonFiniteLossesBeforeAnyChange) {
  Training<Regression<float>> training(busy_config(), Random(1));
  regress(training);
  const auto before = training;
  const auto step_with = [&](double loss, float upstream) {
    return message_of<TrainingError>([&] {
      training.step([&](const auto&, auto& gradient) {
        gradient.layer.weight(2, 1) += upstream;
        return loss;
      });
    });
  };
  EXPECT_EQ(step_with(std::nan(""), 1),
            "Training: step 2: the loss of micro-batch 1 is nan; every gradient is finite. The model is unchanged, "
            "and this step's gradient is dropped. If this repeats, check the inputs, lower "
            "the learning rate or lengthen the warm-up.");
  EXPECT_EQ(step_with(-std::numeric_limits<double>::infinity(), std::nanf("")),
            "Training: step 2: the loss of micro-batch 1 is -inf; the first non-finite gradient is layer.weight[2, 1] = "
            "nan. The model is unchanged, and this step's gradient is dropped. If this repeats, check the inputs, lower "
            "the learning rate or lengthen the warm-up.");
  EXPECT_EQ(step_with(0.5, -std::numeric_limits<float>::infinity()),
            "Training: step 2: the loss is 0.5 and the norm of its gradient is inf; the first non-finite gradient is "
            "layer.weight[2, 1] = -inf. The model is unchanged, and this step's gradient is dropped. If this repeats, check "
            "the inputs, lower "
            "the learning rate or lengthen the warm-up.");
  expect_same(training, before);
  auto other = before;
  EXPECT_EQ(regress(training), regress(other)) << "it continues as if nothing had happened";
  expect_same(training, other);
}

TEST(Training, RefusesAGradientWhoseSquareOverflows) {
  // If the step were taken, the second moment would stay infinite and the parameter would never move again.
  Training<Regression<float>> training({}, Random(1));
  const auto step = [&](float upstream) {
    training.step([&](const auto&, auto& gradient) {
      gradient.layer.weight.setConstant(upstream);
      return 1.0;
    });
  };
  const auto before = training;
  EXPECT_NE(message_of<TrainingError>([&] { step(1e25f); }).find("the norm of its gradient is 2.4"), std::string::npos);
  expect_same(training, before);
  Training<Regression<float>> clipped({.clip_norm = 1}, Random(1));
  clipped.step([](const auto&, auto& gradient) {
    gradient.layer.weight.setConstant(1e37f);
    return 1.0;
  });
  EXPECT_EQ(first_nonfinite(clipped), std::nullopt);
}

TEST(Training, RefusesAStepWithoutAGradient) {
  for (const auto& config : {Config{}, busy_config()}) {
    Training<Regression<float>> training(config, Random(1));
    regress(training);
    const auto before = training;
    EXPECT_EQ(message_of<TrainingError>([&] { training.step([](const auto&, auto&) { return 0.25; }); }),
              "Training: step 2: the loss of micro-batch 1 is 0.25, but nothing was added to the gradient. In the loss "
              "function, call tape.begin(model, gradient) with its arguments, then tape.backward(loss). The model is "
              "unchanged.");
    EXPECT_EQ(message_of<TrainingError>([&] { training.step([](const auto&, auto&) { return 0.0; }); }),
              "Training: step 2: the loss is 0, but nothing was added to the gradient. In the loss function, call "
              "tape.begin(model, gradient) with its arguments, then tape.backward(loss). The model is unchanged.");
    expect_same(training, before);
    training.step([](const auto&, auto& gradient) {
      gradient.layer.weight.array() += 0.0F;  // adds zeros, so the gradient counts as computed
      return 0.0;
    });
    EXPECT_EQ(training.steps_done(), 2);
    training.step([](const auto&, auto& gradient) {
      gradient.layer.bias(1) += 1e-30F;  // changes only the last element
      return 0.0;
    });
    EXPECT_EQ(training.steps_done(), 3);
  }
}

template <class T>
void expect_each_micro_batch_checked() {
  const TrainingConfig<Regression<T>> config{.micro_batches = 3};
  for (const Index forgetful : {1, 2, 3}) {
    Training<Regression<T>> training(config, Random(1));
    const auto before = training;
    const auto step = [&](double loss_without_gradient) {
      Index batch = 0;
      training.step([&](const auto& model, auto& gradient) {
        return ++batch == forgetful ? loss_without_gradient : RegressionLoss<T>{training.random}(model, gradient);
      });
    };
    EXPECT_TRUE(message_of<TrainingError>([&] {
                  step(0.25);
                }).starts_with(text("Training: step 1: the loss of micro-batch ", forgetful, " is 0.25, but nothing")));
    EXPECT_TRUE(same_parameters(training, before));
    step(0);
    EXPECT_EQ(training.steps_done(), 1) << "a loss of 0 may have no gradient";
  }
  Training<Regression<T>> training(config, Random(1));
  Index batch = 0;
  training.step([&](const auto& model, auto& gradient) {
    if (++batch == 1) {
      return RegressionLoss<T>{training.random}(model, gradient);
    }
    gradient.layer.weight(1, 2) += T{1};  // only one element
    return 1.0;
  });
  EXPECT_EQ(training.steps_done(), 1);
}

TEST(Training, ChecksTheGradientOfEachMicroBatch) {
  expect_each_micro_batch_checked<float>();
  expect_each_micro_batch_checked<double>();
}

TEST(Training, DropsTheGradientIfTheLossFunctionThrows) {
  Training<Regression<float>> training(busy_config(), Random(1));
  const auto before = training;
  training.accumulate(RegressionLoss<float>{training.random});
  EXPECT_THROW(training.accumulate([](const auto&, auto& gradient) -> double {
    gradient.layer.weight.setConstant(1e9f);
    throw std::runtime_error("no data");
  }),
               std::runtime_error);
  EXPECT_TRUE(same_parameters(training, before));
  EXPECT_EQ(message_of<ArgumentError>([&] { training.update(); }),
            "Training::update: there is no gradient; call accumulate() first.");
  training.random = before.random;
  auto other = before;
  EXPECT_EQ(regress(training), regress(other));
  expect_same(training, other);
}

TEST(Training, ReturnsItsConfigurationOnlyBetweenSteps) {
  Training<Regression<float>> training(busy_config(), Random(1));
  regress(training);
  EXPECT_EQ(training.config().progress.steps, 1);
  EXPECT_EQ(training.config().progress.random, training.random.state());
  training.accumulate(RegressionLoss<float>{training.random});
  EXPECT_THROW(static_cast<void>(training.config()), ArgumentError);
  training.update();
  EXPECT_EQ(training.config().progress.steps, 2);
}

TEST(Training, IsBitEqualForAnyNumberOfThreads) {
  const TrainingConfig<Regression<float>> config{.model = {.in = 16, .out = 5000}, .clip_norm = 0.5, .average_decay = 0.9};
  Training<Regression<float>> one(config, Random(1));
  Training<Regression<float>> three = one;
  three.threads = Threads{3};
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(regress(one), regress(three));
  }
  expect_same(one, three);
}

TEST(Training, RecordedStepsUseTheThreadsOfTheMoment) {
  Training<Regression<float>> training({.model = {.in = 16, .out = 3}}, Random(1));
  const Matrix<float> x = Matrix<float>::Ones(4, 16), target = Matrix<float>::Ones(4, 3);
  for (const int threads : {1, 2, 1}) {
    training.threads = Threads{threads};
    training.step([&](auto& run) {
      EXPECT_EQ(run.tape().workspace().threads().count(), training.threads.count());
      return regression_loss(run(training.model.layer, x), target);
    });
  }
}

TEST(Training, AWarmStepAllocatesNothing) {
  EXPECT_TRUE(test::allocations_are_counted());
  auto config = busy_config();
  config.model = {.in = 16, .out = 5000};
  Training<Regression<float>> training(config, Random(1));
  for (const int threads : {1, 2}) {
    training.threads = Threads{threads};
    regress(training);
    EXPECT_EQ(test::allocations_during([&] { regress(training); }), 0) << threads << " threads";
  }
}

TEST(Training, RefusesInvalidConfigurations) {
  const auto make = [](auto&& change) {
    Config config = busy_config();
    change(config);
    return message_of<ArgumentError>([&] { Training<Regression<float>>{config}; });
  };
  EXPECT_EQ(make([](Config& c) { c.clip_norm = -1; }),
            "TrainingConfig: clip_norm is -1, expected 0 (off) or a finite positive number.");
  EXPECT_NE(make([](Config& c) { c.clip_norm = std::numeric_limits<double>::infinity(); }), "");
  EXPECT_EQ(make([](Config& c) { c.average_decay = 1; }),
            "TrainingConfig: average_decay is 1, expected 0 ≤ average_decay < 1.");
  EXPECT_EQ(make([](Config& c) { c.micro_batches = 0; }), "TrainingConfig: micro_batches is 0, expected at least 1.");
  EXPECT_EQ(make([](Config& c) { c.progress.steps = -1; }), "TrainingConfig: progress.steps is -1, expected 0 or more.");
  EXPECT_EQ(make([](Config& c) { c.progress.random = {}; }),
            "TrainingConfig: progress.random is all zero, a fixed point of the generator.");
  EXPECT_EQ(make([](Config& c) { c.schedule.steps = 5; }), "learning_rate: steps is 5, expected more than warmup = 5.");
  EXPECT_EQ(make([](Config& c) { c.optimizer.beta1 = 2; }), "AdamW: beta1 is 2, expected 0 ≤ beta1 < 1.");
  EXPECT_NE(make([](Config& c) { c.model.in = 0; }).find("Linear"), std::string::npos);
}

TEST(Training, AcceptsOnlyValidNewSchedules) {
  Training<Regression<float>> training(busy_config(), Random(1));
  training.set_schedule({.steps = 80});
  EXPECT_EQ(training.config().schedule.steps, 80);
  EXPECT_EQ(training.rate(), 0.05);
  EXPECT_THROW(training.set_schedule({.form = ScheduleForm::linear}), ArgumentError);
  EXPECT_EQ(training.config().schedule.steps, 80);
}

TEST(ExpectSameRun, NamesDifferencesWithBothValues) {
  Training<Regression<float>> training(busy_config(), Random(1));
  regress(training);
  Config wanted = busy_config();
  wanted.schedule.steps = 1000;
  EXPECT_NO_THROW(training.expect_same_run(wanted)) << "the progress and the number of steps may differ";
  wanted.model.in = 6;
  wanted.model.bias = false;
  wanted.optimizer.learning_rate = 0.1;
  wanted.optimizer.decayed_roles = {Role::weight};
  wanted.optimizer.groups[0].path = "layer";
  wanted.optimizer.groups[0].weight_decay = 0.5;
  wanted.schedule.form = ScheduleForm::constant;
  EXPECT_EQ(message_of<ArgumentError>([&] { training.expect_same_run(wanted); }),
            "Training: the training run in the file has different settings:\n"
            "  model.in is 5 in the file, expected 6\n"
            "  model.bias is true in the file, expected false\n"
            "  optimizer.learning_rate is 0.05 in the file, expected 0.1\n"
            "  optimizer.decayed_roles is [weight, embedding, memory] in the file, expected [weight]\n"
            "  optimizer.groups[0].path is \"layer.bias\" in the file, expected \"layer\"\n"
            "  optimizer.groups[0].weight_decay is none in the file, expected 0.5\n"
            "  schedule.form is cosine in the file, expected constant\n"
            "Pass the file's settings, or start a new run.");
  wanted = busy_config();
  wanted.optimizer.groups.clear();
  EXPECT_EQ(message_of<ArgumentError>([&] { training.expect_same_run(wanted); }),
            "Training: the training run in the file has different settings:\n"
            "  optimizer.groups is [{path: \"layer.bias\", learning_rate_factor: 2, weight_decay: none, frozen: false}] in the "
            "file, expected []\nPass the file's settings, or start a new run.");
}

}  // namespace
}  // namespace gated::training_test
