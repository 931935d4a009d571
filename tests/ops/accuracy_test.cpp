#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gated/ops/activation.hpp"
#include "tests/ops/sweep.hpp"

/// Each element-wise function is within 2.05 machine epsilons of its long double reference, at every magnitude (worst: 2.03,
/// SiLU at -5.879, over all floats).
///
/// The error is relative to the reference, except where a function amplifies the rounding error of an inner argument w(x): for
/// f(x) = x s(w(x)), the error is relative to |f| + |x s'(w) w|.

namespace gated::accuracy_test {
namespace {

using Real = long double;
const Real pi = std::acos(Real{-1});  // libc++'s long double constants are only as precise as a double

Real density(Real x) { return std::exp(-x * x / 2) / std::sqrt(2 * pi); }
Real distribution(Real x) { return std::erfc(-x / std::sqrt(Real{2})) / 2; }
Real sigma(Real x) { return 1 / (1 + std::exp(-x)); }
Real sigma_derivative(Real x) { return sigma(x) * sigma(-x); }
/// a · b, or 0 if either factor is 0, even if the other is infinite.
Real times(Real a, Real b) { return a == 0 || b == 0 ? 0 : a * b; }

template <class T>
class AccuracyOf : public ::testing::Test {
 protected:
  template <class F, class Truth, class Scale>
  void expect_two_epsilons(const char* name, const F& f, const Truth& truth, const Scale& scale) {
    const test::LargestError largest = test::largest_error<T>(f, truth, scale);
    EXPECT_LE(largest.error, 2.05) << name << "(" << largest.at << ")";
    EXPECT_GT(largest.error, 0.1) << name << " has almost no error: was it compared?";
    this->RecordProperty(name, std::to_string(largest.error));
  }
  /// Measures the relative error: the scale is |truth(x)|.
  template <class F, class Truth>
  void expect_two_epsilons(const char* name, const F& f, const Truth& truth) {
    expect_two_epsilons(name, f, truth, [&](Real x) { return std::fabs(truth(x)); });
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AccuracyOf, Scalars, );

constexpr auto value_of = [](auto activation) { return [activation](auto x) { return activation.value(x); }; };
constexpr auto slope_of = [](auto activation) { return [activation](auto x) { return activation.derivative(x); }; };

TYPED_TEST(AccuracyOf, ExpOfNegativesIsAccurate) {
  this->expect_two_epsilons(
      "exp", [](auto x) { return exp_of_negative(x); }, [](Real x) { return std::exp(std::min(x, 0.0L)); });
}

TYPED_TEST(AccuracyOf, NormalDensityAndDistributionAreAccurate) {
  this->expect_two_epsilons(
      "density", [](auto x) { return normal_density(x); }, density);
  this->expect_two_epsilons(
      "distribution", [](auto x) { return normal_distribution(x); }, distribution,
      [](Real x) { return distribution(x) + times(std::fabs(x), density(x)); });
}

TYPED_TEST(AccuracyOf, GeluIsAccurate) {
  this->expect_two_epsilons(
      "gelu", value_of(Gelu{}), [](Real x) { return times(x, distribution(x)); },
      [](Real x) { return times(std::fabs(x), distribution(x)) + times(x * x, density(x)); });
  this->expect_two_epsilons(
      "derivative", slope_of(Gelu{}), [](Real x) { return distribution(x) + times(x, density(x)); },
      [](Real x) { return distribution(x) + times(std::fabs(x), density(x)); });
}

TYPED_TEST(AccuracyOf, GeluTanhIsAccurate) {
  const Real root = std::sqrt(8 / pi), cubic = 0.044715L;
  const auto w = [=](Real x) { return root * (x + cubic * x * x * x); };
  const auto v = [=](Real x) { return root * (x + 3 * cubic * x * x * x); };  // x w'
  this->expect_two_epsilons(
      "gelu_tanh", value_of(GeluTanh{}), [=](Real x) { return times(x, sigma(w(x))); },
      [=](Real x) { return std::fabs(times(x, sigma(w(x)))) + std::fabs(times(x * w(x), sigma_derivative(w(x)))); });
  this->expect_two_epsilons(
      "derivative", slope_of(GeluTanh{}), [=](Real x) { return sigma(w(x)) + times(v(x), sigma_derivative(w(x))); },
      [=](Real x) {
        return sigma(w(x)) + std::fabs(times(v(x), sigma_derivative(w(x)))) +
               std::fabs(times(v(x) * w(x), sigma_derivative(w(x))));
      });
}

TYPED_TEST(AccuracyOf, SiluIsAccurate) {
  this->expect_two_epsilons("silu", value_of(Silu{}), [](Real x) { return times(x, sigma(x)); });
  this->expect_two_epsilons(
      "derivative", slope_of(Silu{}), [](Real x) { return sigma(x) + times(x, sigma_derivative(x)); },
      [](Real x) { return sigma(x) + std::fabs(times(x, sigma_derivative(x))); });
}

TYPED_TEST(AccuracyOf, SigmoidAndTanhAreAccurate) {
  this->expect_two_epsilons("sigmoid", value_of(Sigmoid{}), sigma);
  this->expect_two_epsilons("sigmoid_slope", slope_of(Sigmoid{}), sigma_derivative);
  this->expect_two_epsilons("tanh", value_of(Tanh{}), [](Real x) { return std::tanh(x); });
  this->expect_two_epsilons("tanh_slope", slope_of(Tanh{}), [](Real x) { return 4 * sigma_derivative(2 * x); });
}

TYPED_TEST(AccuracyOf, LaplaceIsAccurate) {
  const Real mean = std::sqrt(Real{0.5});
  const auto check = [&](const char* name, auto activation, Real deviation) {
    const auto z = [=](Real x) { return (x - mean) / deviation; };
    this->expect_two_epsilons(
        name, value_of(activation), [=](Real x) { return distribution(z(x)); },
        [=](Real x) { return distribution(z(x)) + times(std::fabs(z(x)), density(z(x))); });
    this->expect_two_epsilons(
        "derivative", slope_of(activation), [=](Real x) { return density(z(x)) / deviation; },
        [=](Real x) { return (1 + z(x) * z(x)) * density(z(x)) / deviation; });
  };
  check("laplace", Laplace{}, std::sqrt(0.25L / pi));
  check("laplace_legacy", LaplaceLegacy{}, std::sqrt(0.25L * pi));
}

TYPED_TEST(AccuracyOf, Relu2IsAccurate) {
  this->expect_two_epsilons("relu2", value_of(Relu2{}), [](Real x) { return x > 0 ? x * x : 0; });
}

}  // namespace
}  // namespace gated::accuracy_test
