#include "gated/train/schedule.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"

namespace gated::schedule_test {
namespace {

constexpr std::array all_forms{ScheduleForm::constant, ScheduleForm::linear, ScheduleForm::cosine};

TEST(Schedule, WarmsUpLinearly) {
  for (const ScheduleForm form : all_forms) {
    const ScheduleConfig config{.form = form, .warmup = 3, .steps = 10};
    EXPECT_EQ(learning_rate(config, 0.5, 0), 0.125);
    EXPECT_EQ(learning_rate(config, 0.5, 1), 0.25);
    EXPECT_EQ(learning_rate(config, 0.5, 2), 0.375);
    EXPECT_EQ(learning_rate(config, 0.5, 3), 0.5) << "the first step after the warm-up uses the base rate";
  }
}

TEST(Schedule, StartsAtTheBaseRateWithoutWarmUp) {
  for (const ScheduleForm form : all_forms) {
    EXPECT_EQ(learning_rate({.form = form, .steps = 10}, 0.3, 0), 0.3);
  }
}

TEST(Schedule, ConstantFormKeepsTheBaseRate) {
  for (const Index step : {0, 1, 99, 100, 100000}) {
    EXPECT_EQ(learning_rate({}, 0.3, step), 0.3);
    EXPECT_EQ(learning_rate({.steps = 100, .final_fraction = 0.5}, 0.3, step), 0.3);
  }
}

TEST(Schedule, StaysAtTheFinalFractionAfterTheEnd) {
  for (const ScheduleForm form : {ScheduleForm::linear, ScheduleForm::cosine}) {
    for (const double fraction : {0.0, 0.1, 1.0}) {
      const ScheduleConfig config{.form = form, .warmup = 3, .steps = 10, .final_fraction = fraction};
      EXPECT_EQ(learning_rate(config, 0.3, 9), 0.3 * fraction);
      EXPECT_EQ(learning_rate(config, 0.3, 10), 0.3 * fraction);
      EXPECT_EQ(learning_rate(config, 0.3, 1000000), 0.3 * fraction);
    }
  }
}

TEST(Schedule, DecaysLinearlyOrAsACosine) {
  const ScheduleConfig linear{.form = ScheduleForm::linear, .warmup = 2, .steps = 11, .final_fraction = 0.2};
  const ScheduleConfig cosine{.form = ScheduleForm::cosine, .warmup = 2, .steps = 11, .final_fraction = 0.2};
  EXPECT_NEAR(learning_rate(linear, 1, 4), 0.8, 1e-15);  // x = 1/4
  EXPECT_NEAR(learning_rate(linear, 1, 6), 0.6, 1e-15);  // x = 1/2
  EXPECT_NEAR(learning_rate(cosine, 1, 4), 0.2 + 0.4 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_NEAR(learning_rate(cosine, 1, 6), 0.6, 1e-15);
  EXPECT_NEAR(learning_rate(cosine, 1, 8), 0.2 + 0.4 * (1 - std::sqrt(0.5)), 1e-15);
  for (Index step = 3; step < 11; ++step) {
    EXPECT_LT(learning_rate(linear, 1, step), learning_rate(linear, 1, step - 1));
    EXPECT_LT(learning_rate(cosine, 1, step), learning_rate(cosine, 1, step - 1));
  }
}

TEST(Schedule, ASingleStepAfterWarmUpUsesTheBaseRate) {
  EXPECT_EQ(learning_rate({.form = ScheduleForm::cosine, .steps = 1}, 0.3, 0), 0.3);
  EXPECT_EQ(learning_rate({.form = ScheduleForm::cosine, .warmup = 4, .steps = 5}, 0.3, 4), 0.3);
  EXPECT_EQ(learning_rate({.form = ScheduleForm::cosine, .warmup = 4, .steps = 5}, 0.3, 5), 0.0);
}

TEST(Schedule, RefusesInvalidSettings) {
  const auto message = [](const ScheduleConfig& config, double base = 1, Index step = 0) {
    return test::message_of<ArgumentError>([&] { static_cast<void>(learning_rate(config, base, step)); });
  };
  EXPECT_EQ(message({}, 1, -1), "learning_rate: step is -1, expected 0 or more.");
  EXPECT_EQ(message({}, -1), "learning_rate: base is -1, expected 0 or more.");
  EXPECT_EQ(message({}, std::nan("")), "learning_rate: base is nan, expected 0 or more.");
  EXPECT_EQ(message({.warmup = -2}), "learning_rate: warmup is -2, expected 0 or more.");
  EXPECT_EQ(message({.steps = -2}), "learning_rate: steps is -2, expected 0 or more.");
  EXPECT_EQ(message({.final_fraction = 1.5}), "learning_rate: final_fraction is 1.5, expected a number from 0 to 1.");
  EXPECT_EQ(message({.form = ScheduleForm::linear}), "learning_rate: steps is 0, expected more than warmup = 0.");
  EXPECT_EQ(message({.form = ScheduleForm::cosine, .warmup = 100, .steps = 100}),
            "learning_rate: steps is 100, expected more than warmup = 100.");
}

}  // namespace
}  // namespace gated::schedule_test
