#include "gated/train/clip.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gated/train/adamw.hpp"
#include "tests/core/numbers.hpp"
#include "tests/train/adamw_reference.hpp"
#include "tests/train/kinds.hpp"

namespace gated::clip_test {
namespace {

using test::Kinds;

template <class T>
void expect_like_torch(std::span<const T> expected, std::span<const T> norms, double tolerance) {
  Kinds<T> model = test::reference_start<T>();
  AdamW<Kinds<T>> optimizer(model, {.weight_decay = 0.1});
  for (Index step = 0; step < 10; ++step) {
    Kinds<T> gradient = test::reference_gradient<T>(step);
    const double norm = clip_by_global_norm(gradient, 0.5);
    const auto wanted = static_cast<double>(norms[static_cast<std::size_t>(step)]);
    EXPECT_NEAR(norm, wanted, tolerance * wanted) << "step " << step;
    EXPECT_NEAR(gradient_norm(gradient), 0.5, 1e-6);
    optimizer.update(model, gradient, 0.03 / static_cast<double>(1 + step));
  }
  expected = expected.subspan(2 * 41);  // now begins with the parameters after ten steps; the moments follow
  for (const Kinds<T>* const part : {&model, &optimizer.first, &optimizer.second}) {
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          for (std::size_t i = 0; i < values.size() && info.role != Role::constant; ++i) {
            const auto number = static_cast<double>(expected[0]);
            EXPECT_NEAR(static_cast<double>(values[i]), number, tolerance * std::max(std::fabs(number), 1e-2)) << info.path();
            expected = expected.subspan(1);
          }
        },
        *part);
  }
  EXPECT_TRUE(expected.empty());
}

TEST(ClipByGlobalNorm, MatchesTorch) {
  expect_like_torch<float>(test::clipped_float, test::clipped_norms_float, 1e-6);
  expect_like_torch<double>(test::clipped_double, test::clipped_norms_double, 1e-13);
}

TEST(ClipByGlobalNorm, KeepsSmallGradients) {
  Kinds<float> gradient = test::reference_gradient<float>(0);
  const Kinds<float> before = gradient;
  const double norm = clip_by_global_norm(gradient, 1e3);
  EXPECT_EQ(norm, gradient_norm(before));
  EXPECT_TRUE(test::same_bits(gradient.weight, before.weight));
}

TEST(ClipByGlobalNorm, KeepsNonFiniteGradients) {
  Kinds<float> gradient = test::reference_gradient<float>(0);
  gradient.norm(2) = std::numeric_limits<float>::infinity();
  const Kinds<float> before = gradient;
  EXPECT_TRUE(std::isinf(clip_by_global_norm(gradient, 1.0)));
  EXPECT_TRUE(test::same_bits(gradient.weight, before.weight));
}

TEST(ClipByGlobalNorm, RefusesInvalidLimits) {
  Kinds<float> gradient;
  for (const double largest : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(clip_by_global_norm(gradient, largest), ArgumentError);
  }
}

/// A gradient that is zero except for three values.
template <class T>
Kinds<T> three_values(T a, T b, T c) {
  Kinds<T> gradient;
  gradient.weight(1, 3) = a;
  gradient.bias(1) = b;
  gradient.embedding(3, 1) = c;
  return gradient;
}

TEST(GradientNorm, IsTheRootOfTheSumOfSquares) {
  EXPECT_EQ(gradient_norm(three_values<float>(2, -3, 6)), 7.0);
  EXPECT_EQ(gradient_norm(Kinds<float>{}), 0.0) << "constants must not add to the norm";
  const Kinds<double> gradient = test::reference_gradient<double>(3);
  long double sum = 0;
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        for (const double value : values) {
          sum += info.role == Role::constant ? 0 : static_cast<long double>(value) * value;
        }
      },
      gradient);
  EXPECT_NEAR(gradient_norm(gradient), static_cast<double>(std::sqrt(sum)), 1e-14);
}

TEST(GradientNorm, NeitherOverflowsNorUnderflows) {
  EXPECT_NEAR(gradient_norm(three_values<float>(2e38f, -3e38f, 1e38f)) / 3.7416573867739413e38, 1, 1e-6);
  EXPECT_NEAR(gradient_norm(three_values<float>(2e-45f, -3e-45f, 6e-45f)) / 7e-45, 1, 0.2);  // denormal floats
  for (const double unit : {0x1p1020, 0x1p900, 0x1p512, 0x1p-512, 0x1p-900, 0x1p-1000, 0x1p-1060}) {
    EXPECT_EQ(gradient_norm(three_values<double>(2 * unit, -3 * unit, 6 * unit)), 7 * unit) << unit;
  }
  EXPECT_TRUE(std::isinf(gradient_norm(three_values<double>(1.7e308, 1.7e308, 0))));
}

TEST(GradientNorm, IsNonFiniteIfAnyValueIsNonFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  EXPECT_TRUE(std::isinf(gradient_norm(three_values<double>(1, -inf, 0))));
  EXPECT_TRUE(std::isnan(gradient_norm(three_values<double>(1, nan, 0))));
  EXPECT_FALSE(std::isfinite(gradient_norm(three_values<double>(inf, nan, 0))));
  EXPECT_FALSE(std::isfinite(gradient_norm(three_values<double>(nan, 1e300, 1e300))));
}

TEST(FirstNonfinite, NamesTheParameterAndTheIndex) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(first_nonfinite(Kinds<float>{}), std::nullopt);
  EXPECT_EQ(first_nonfinite(three_values<float>(std::nanf(""), inf, 0)), "weight[1, 3] = nan");
  EXPECT_EQ(first_nonfinite(three_values<float>(0, -inf, inf)), "bias[1] = -inf");
  EXPECT_EQ(first_nonfinite(three_values<float>(0, 0, inf)), "embedding[3, 1] = inf");
}

}  // namespace
}  // namespace gated::clip_test
