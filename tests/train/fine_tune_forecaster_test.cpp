#include <gtest/gtest.h>

#include "gated/models/tiny_time_mixer.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/regression_loss.hpp"
#include "gated/train/training.hpp"
#include "tests/core/numbers.hpp"

// Fine-tuning as done by IBM: a parameter group freezes the backbone.

namespace gated::fine_tune_forecaster_test {
namespace {

using Model = TinyTimeMixer<double>;

TEST(FineTuning, LeavesAFrozenBackboneUnchanged) {
  const TinyTimeMixerConfig config{.series = 2,
                                   .context = 16,
                                   .patch = 4,
                                   .stride = 4,
                                   .horizon = 4,
                                   .backbone = {.channels = 12, .depth = 1, .levels = 2},
                                   .decoder = {.channels = 8, .depth = 1, .mixes_series = true}};
  Random random(1);
  const Model start(config, random);
  const auto x = test::random_matrix<double>(8, 16, 3), target = test::random_matrix<double>(8, 4, 4);
  std::vector<std::uint8_t> observed(32, 1);
  observed[5] = 0;
  for (const RegressionForm form :
       {RegressionForm::squared, RegressionForm::absolute, RegressionForm::huber, RegressionForm::quantile}) {
    Training<Model> training({.optimizer = {.learning_rate = 3e-3, .groups = {{.path = "backbone", .frozen = true}}}}, start,
                             Random(2));
    Tape<double> tape;
    double first = 0, last = 0;
    for (int i = 0; i < 40; ++i) {
      last = training.step([&](const Model& model, Model& gradient) {
        tape.begin(model, gradient);
        const Variable y = record(tape, model, tape.constant(x), Sequences::uniform(4, 2));
        return tape.backward(regression_loss<double>(tape, y, target, {.form = form}, observed));
      });
      first = i == 0 ? last : first;
    }
    EXPECT_LT(last, 0.95 * first) << name_of(form);
    Model trained = training.model, untouched = start;
    for_each_parameter(
        [](const ParameterInfo& info, auto after, auto before) {
          const bool same = std::equal(after.begin(), after.end(), before.begin());
          EXPECT_EQ(same, info.path().starts_with("backbone.")) << info.path();
        },
        trained, untouched);
  }
}

}  // namespace
}  // namespace gated::fine_tune_forecaster_test
