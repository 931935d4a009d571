#include "gated/train/moving_average.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/train/kinds.hpp"

namespace gated::moving_average_test {
namespace {

using test::Kinds;

TEST(MovingAverage, MixesAverageAndModel) {
  Kinds<double> average = test::reference_start<double>();
  const Kinds<double> old = average;
  const Kinds<double> model = test::reference_gradient<double>(1);
  update_average(average, model, 0.75);
  for_each_parameter(
      [](const ParameterInfo& info, auto got, auto a, auto m) {
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_NEAR(got[i], info.role == Role::constant ? m[i] : 0.75 * a[i] + 0.25 * m[i], 1e-15) << info.path();
        }
      },
      average, old, model);
}

TEST(MovingAverage, IsConstantForAConstantModel) {
  const Kinds<float> model = test::reference_start<float>();
  Kinds<float> average = model;
  for (int i = 0; i < 1000; ++i) {
    update_average(average, model, 0.9999);
  }
  EXPECT_TRUE(test::same_bits(average.weight, model.weight));
}

TEST(MovingAverage, ApproachesTheModelGeometrically) {
  Kinds<double> average;
  Kinds<double> model;
  model.weight.setOnes();
  for (int i = 0; i < 50; ++i) {
    update_average(average, model, 0.9);
  }
  EXPECT_NEAR(average.weight(2, 4), 1 - std::pow(0.9, 50), 1e-14);
}

TEST(MovingAverage, HandlesDecayZeroAndOne) {
  const Kinds<double> model = test::reference_start<double>();
  Kinds<double> average;
  update_average(average, model, 1);
  EXPECT_TRUE(test::same_bits(average.weight, Matrix<double>::Zero(3, 5).eval()));
  update_average(average, model, 0);
  EXPECT_TRUE(test::same_bits(average.weight, model.weight));
}

TEST(MovingAverage, IsBitEqualForAnyNumberOfThreads) {
  Kinds<float> start, model;
  start.weight = test::random_matrix<float>(3, 50001, 1);
  model.weight = test::random_matrix<float>(3, 50001, 2);
  Kinds<float> one = start;
  update_average(one, model, 0.9);
  for (const int threads : {2, 3}) {
    Kinds<float> average = start;
    update_average(average, model, 0.9, Threads{threads});
    EXPECT_TRUE(test::same_bits(average.weight, one.weight)) << threads;
  }
}

TEST(MovingAverage, RefusesInvalidArgumentsBeforeAnyChange) {
  Kinds<float> average, other;
  for (const double decay : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(update_average(average, other, decay), ArgumentError);
  }
  other.weight.setOnes();
  other.embedding = Matrix<float>::Ones(5, 2);
  EXPECT_THROW(update_average(average, other, 0.5), ArgumentError);
  EXPECT_TRUE(test::same_bits(average.weight, Matrix<float>::Zero(3, 5).eval()));
}

}  // namespace
}  // namespace gated::moving_average_test
