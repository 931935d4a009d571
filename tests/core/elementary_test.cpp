#include "gated/core/elementary.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <numbers>

#include "tests/core/numbers.hpp"

namespace gated::elementary_test {
namespace {

using test::bits_of;
using test::distance_in_ulp;
using test::exact_turn;

/// The largest distance of f(x) from exact(x), in ulps, among one million values x returned by `draw`.
template <class F, class Exact, class Draw>
double largest_distance(const F& f, const Exact& exact, const Draw& draw) {
  Random random(1);
  double largest = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = draw(random);
    largest = std::max(largest, distance_in_ulp(f(x), exact(static_cast<long double>(x))));
  }
  return largest;
}

auto between(double low, double high) {
  return [=](Random& random) { return low + (high - low) * random.uniform(); };
}

/// What the references below may be off by, in ulps: 1 if long double is no wider than double, as under Valgrind, else 0.
double error_of_references() {
  volatile long double tiny = std::numeric_limits<double>::epsilon() / 16;
  return 1 + tiny == 1 ? 1 : 0;
}

TEST(Elementary, ExpAndLogStayWithinTheirStatedErrors) {
  const auto exp = [](long double x) { return std::exp(x); };
  EXPECT_LE(largest_distance(elementary::exp, exp, between(-700, 700)), 1.2 + error_of_references());
  EXPECT_LE(largest_distance(elementary::exp, exp, between(-1, 1)), 1.2 + error_of_references());
  const auto log = [](long double x) { return std::log(x); };
  EXPECT_LE(largest_distance(elementary::log, log, between(0, 2)), 3.0);
  EXPECT_LE(largest_distance(elementary::log, log, between(0, 1e30)), 1.0);
}

TEST(Elementary, TurnStaysWithinItsStatedError) {
  for (const double most : {1.0, 100.0, 1e6}) {
    Random random(2);
    double largest = 0;
    for (int i = 0; i < 300'000; ++i) {
      const double angle = most * (2 * random.uniform() - 1);
      const elementary::Turn turn = elementary::turn(angle);
      const std::complex<long double> exact = exact_turn(angle);
      largest = std::max({largest, std::abs(static_cast<double>(turn.cosine - exact.real())),
                          std::abs(static_cast<double>(turn.sine - exact.imag()))});
    }
    EXPECT_LE(largest, 2e-16 + error_of_references() * std::numeric_limits<double>::epsilon()) << most;
  }
}

TEST(Elementary, PowStaysWithinItsStatedError) {
  for (const double base : {2.0, 10000.0, 0.999}) {
    for (double exponent = -1; exponent <= 1; exponent += 1.0 / 64) {
      const double got = elementary::pow(base, exponent);
      const long double exact = std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
      EXPECT_LE(distance_in_ulp(got, exact), 1.2 + 1.5 * std::abs(std::log(got))) << base << "^" << exponent;
    }
  }
  EXPECT_EQ(elementary::pow(10000.0, 0.0), 1.0);
}

TEST(Elementary, HandlesZeroInfinityAndNan) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(elementary::exp(0.0), 1.0);
  EXPECT_EQ(elementary::exp(-infinity), 0.0);
  EXPECT_EQ(elementary::exp(-800.0), 0.0);
  EXPECT_EQ(elementary::exp(infinity), infinity);
  EXPECT_EQ(elementary::exp(710.0), infinity);
  EXPECT_TRUE(std::isnan(elementary::exp(nan)));
  EXPECT_EQ(elementary::log(1.0), 0.0);
  EXPECT_EQ(elementary::log(0.0), -infinity);
  EXPECT_EQ(elementary::log(infinity), infinity);
  EXPECT_TRUE(std::isnan(elementary::log(-1.0)));
  EXPECT_TRUE(std::isnan(elementary::log(nan)));
  EXPECT_EQ(elementary::turn(0.0).cosine, 1.0);
  EXPECT_EQ(elementary::turn(0.0).sine, 0.0);
}

TEST(Elementary, HasTheSameBitsOnEveryMachine) {
  EXPECT_EQ(bits_of(elementary::exp(-0.7310585786300049)), 4602343735533772515u);
  EXPECT_EQ(bits_of(elementary::log(512.0)), 4618709747541573933u);
  EXPECT_EQ(bits_of(elementary::pow(10000.0, -0.328125)), 4587178762683405674u);
  EXPECT_EQ(bits_of(elementary::turn(12345.6789).cosine), 4604577111133276814u);
  EXPECT_EQ(bits_of(elementary::turn(12345.6789).sine), 13827883297949008198u);
}

}  // namespace
}  // namespace gated::elementary_test
