#include "gated/ops/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "gated/core/settings.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/on_vectors.hpp"

namespace gated::activation_test {
namespace {

constexpr std::array every_activation = {
    Activation::identity, Activation::gelu,    Activation::gelu_tanh,      Activation::silu, Activation::relu,
    Activation::relu2,    Activation::laplace, Activation::laplace_legacy, Activation::tanh, Activation::sigmoid};

template <class T>
std::vector<T> values(Activation activation, const std::vector<T>& x) {
  return with_activation(activation, [&](auto act) { return test::on_vectors([&](auto v) { return act.value(v); }, x); });
}

template <class T>
std::vector<T> derivatives(Activation activation, const std::vector<T>& x) {
  return with_activation(activation, [&](auto act) { return test::on_vectors([&](auto v) { return act.derivative(v); }, x); });
}

/// The formula of the activation's paper or of PyTorch's documentation.
long double formula(Activation activation, long double x) {
  const long double pi = std::numbers::pi_v<long double>;
  switch (activation) {
    case Activation::identity:
      return x;
    case Activation::gelu:
    case Activation::coarse_gelu:
      return x * (1 + std::erf(x / std::sqrt(2.0L))) / 2;
    case Activation::gelu_tanh:
    case Activation::coarse_gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715L * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::relu:
      return std::isnan(x) ? x : std::max(x, 0.0L);
    case Activation::relu2:
      return std::isnan(x) ? x : std::max(x, 0.0L) * std::max(x, 0.0L);
    case Activation::laplace:
      return (1 + std::erf((x - std::sqrt(0.5L)) / (std::sqrt(0.25L / pi) * std::sqrt(2.0L)))) / 2;
    case Activation::laplace_legacy:
      return (1 + std::erf((x - std::sqrt(0.5L)) / (std::sqrt(0.25L * pi) * std::sqrt(2.0L)))) / 2;
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return 0;
}

/// Points in [-limit, limit], none of them at a kink of an activation.
template <class T>
std::vector<T> grid(double limit) {
  std::vector<T> x;
  for (int i = -997; i <= 997; i += 2) {
    x.push_back(static_cast<T>(limit * i / 997));
  }
  return x;
}

template <class T>
class ActivationOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ActivationOf, Scalars, );

TYPED_TEST(ActivationOf, EqualsItsFormula) {
  const auto epsilon = static_cast<long double>(std::numeric_limits<TypeParam>::epsilon());
  for (const Activation activation : every_activation) {
    for (const double limit : {0.01, 4.0, 12.0}) {
      const std::vector<TypeParam> x = grid<TypeParam>(limit), y = values(activation, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto at = static_cast<long double>(x[i]);
        const long double expected = formula(activation, at);
        const long double scale = std::max({1.0L, std::fabs(at), std::fabs(expected)});
        ASSERT_TRUE(test::close(y[i], expected, 4 * epsilon * scale)) << name_of(activation) << "(" << x[i] << ")";
      }
    }
  }
}

TYPED_TEST(ActivationOf, EqualsItsFormulaForLargeInputs) {
  for (const Activation activation : every_activation) {
    for (const double far : {150.0, -150.0, 1e4, -1e4, 1e30, -1e30}) {
      const auto x = static_cast<TypeParam>(far);
      const auto expected = static_cast<TypeParam>(formula(activation, static_cast<long double>(x)));
      const long double tolerance = 1e-6L * std::fabs(static_cast<long double>(expected)) + 1e-30L;
      EXPECT_TRUE(test::close(values(activation, std::vector{x}).front(), expected, tolerance))
          << name_of(activation) << "(" << far << ")";
    }
  }
}

TYPED_TEST(ActivationOf, KeepsNaN) {
  const std::vector nan{std::numeric_limits<TypeParam>::quiet_NaN()};
  for (const Activation activation : every_activation) {
    EXPECT_TRUE(std::isnan(values(activation, nan).front())) << name_of(activation);
  }
}

TYPED_TEST(ActivationOf, DerivativeReachesItsAsymptote) {
  for (const Activation activation : every_activation) {
    for (const double far : {150.0, 1e30}) {
      const auto x = static_cast<TypeParam>(far);
      const bool grows = activation == Activation::gelu || activation == Activation::gelu_tanh ||
                         activation == Activation::silu || activation == Activation::relu;
      const auto right = activation == Activation::relu2 ? 2 * x : static_cast<TypeParam>(grows);
      const TypeParam one{1};
      const std::vector<TypeParam> given = derivatives(activation, std::vector{-x, x});
      EXPECT_TRUE(test::close(given[0], activation == Activation::identity ? one : TypeParam{0}, 1e-30L))
          << name_of(activation) << "'(" << -x << ")";
      EXPECT_TRUE(test::close(given[1], activation == Activation::identity ? one : right, 1e-30L))
          << name_of(activation) << "'(" << x << ")";
    }
  }
}

TEST(Activation, DerivativesMatchCentralDifferences) {
  const double h = 1e-5;
  for (const Activation activation : every_activation) {
    const std::vector<double> x = grid<double>(9.0), given = derivatives(activation, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto around = values(activation, std::vector{x[i] - h, x[i] + h});
      ASSERT_TRUE(test::close(given[i], (around[1] - around[0]) / (2 * h), 1e-8)) << name_of(activation) << "'(" << x[i] << ")";
    }
  }
}

TEST(Activation, DerivativesAgreeInFloatAndDouble) {
  for (const Activation activation : every_activation) {
    const std::vector<float> x = grid<float>(9.0f);
    const std::vector<float> given = derivatives(activation, x);
    const std::vector<double> exact = derivatives(activation, std::vector<double>(x.begin(), x.end()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(test::close(given[i], exact[i], 4e-6L * std::max(1.0, std::fabs(exact[i]))))
          << name_of(activation) << "'(" << x[i] << ")";
    }
  }
}

TYPED_TEST(ActivationOf, CoarseFormsAreWithinTheirBound) {
  constexpr auto infinity = std::numeric_limits<TypeParam>::infinity();
  for (const Activation activation : every_activation) {
    const Activation form = coarse(activation);
    if (form == activation) {
      EXPECT_TRUE(activation != Activation::gelu && activation != Activation::gelu_tanh);
      continue;
    }
    for (const double limit : {0.01, 5.0, 12.0, 1e4}) {
      const std::vector<TypeParam> x = grid<TypeParam>(limit), y = values(form, x), slopes = derivatives(form, x);
      const std::vector<TypeParam> exact = derivatives(activation, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto at = static_cast<long double>(x[i]);
        const long double bound = std::max(std::ldexp(1.0L, -12), std::ldexp(std::fabs(at), -19));
        ASSERT_TRUE(test::close(y[i], formula(activation, at), bound)) << name_of(activation) << "(" << x[i] << ")";
        ASSERT_TRUE(test::close(slopes[i], exact[i], std::ldexp(1.0L, -12))) << name_of(activation) << "'(" << x[i] << ")";
      }
    }
    const std::vector<TypeParam> far = values(form, std::vector{-infinity, infinity});
    EXPECT_TRUE(test::close(far[0], 0, 1e-5L));
    EXPECT_EQ(far[1], infinity);
    EXPECT_TRUE(std::isnan(values(form, std::vector{std::numeric_limits<TypeParam>::quiet_NaN()}).front()));
    EXPECT_EQ(name_of(form), "") << "a configuration cannot ask for it";
  }
}

TEST(Relu, HasZeroSlopeAtZero) {
  EXPECT_EQ(derivatives(Activation::relu, std::vector{0.0}).front(), 0);
  EXPECT_EQ(derivatives(Activation::relu2, std::vector{0.0}).front(), 0);
}

TEST(Laplace, IsNotZeroAtZero) {
  EXPECT_NEAR(values(Activation::laplace, std::vector{0.0}).front(), 0.0060946, 1e-6);
  EXPECT_GT(values(Activation::laplace, std::vector{0.0f}).front(), 0.006f);
}

TEST(Laplace, MatchesValueAndSlopeOfSquaredReluAtItsMean) {
  const std::vector<double> mean{std::sqrt(0.5)};
  EXPECT_NEAR(values(Activation::laplace, mean).front(), values(Activation::relu2, mean).front(), 1e-15);
  EXPECT_NEAR(derivatives(Activation::laplace, mean).front(), derivatives(Activation::relu2, mean).front(), 1e-15);
}

TEST(LaplaceLegacy, IsFlatterThanLaplace) {
  const std::vector<double> mean{std::sqrt(0.5)};
  EXPECT_NEAR(derivatives(Activation::laplace_legacy, mean).front(), 1 / (std::sqrt(std::numbers::pi / 4) * 2.5066282746),
              1e-9);
}

TEST(Activation, HasAUniqueNamePerValue) {
  std::set<std::string_view> names;
  for (const Activation activation : every_activation) {
    const std::string_view name = name_of(activation);
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(value_named<Activation>(name), activation) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), every_activation.size());
  EXPECT_EQ(names_of(Activation{}).size(), every_activation.size());
  EXPECT_EQ(static_cast<std::size_t>(Activation::sigmoid) + 1, every_activation.size()) << "every_activation is complete";
}

}  // namespace
}  // namespace gated::activation_test
