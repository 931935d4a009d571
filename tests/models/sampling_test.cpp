#include "gated/models/sampling.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

namespace gated::sampling_test {
namespace {

using test::message_of;
using test::random_matrix;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Matrix<T> row_of(std::initializer_list<double> values) {
  Matrix<T> row(1, static_cast<Index>(values.size()));
  Index i = 0;
  for (const double value : values) {
    row(0, i++) = static_cast<T>(value);
  }
  return row;
}

/// The logits of `probabilities`, plus `shift`, which has no effect on a softmax.
template <class T>
Matrix<T> logits_of(const std::vector<double>& probabilities, double shift = 0) {
  Matrix<T> row(1, static_cast<Index>(probabilities.size()));
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    row(0, static_cast<Index>(i)) = static_cast<T>(std::log(probabilities[i]) + shift);
  }
  return row;
}

template <class T>
std::vector<Index> draws(const Matrix<T>& logits, const Sampling& sampling, std::uint64_t seed, int count) {
  Sampler<T> sampler(logits.cols(), sampling, Random(seed));
  std::vector<Index> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back(sampler(logits));
  }
  return tokens;
}

template <class T>
std::set<Index> support(const Matrix<T>& logits, const Sampling& sampling) {
  const auto tokens = draws(logits, sampling, 5, 4000);
  return {tokens.begin(), tokens.end()};
}

/// Σ (observed - expected)² / expected over tokens with p > 0. Expects that other tokens do not occur.
double chi_square(const std::vector<Index>& tokens, const std::vector<double>& probabilities) {
  std::vector<double> counts(probabilities.size());
  for (const Index token : tokens) {
    counts.at(static_cast<std::size_t>(token)) += 1;
  }
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * static_cast<double>(tokens.size());
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
    } else {
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
  }
  return sum;
}

constexpr int many = 100000;
constexpr double bound = 25.7;  // 99.99 % quantile of chi-square with 5 degrees of freedom

template <class T>
class SamplerOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SamplerOf, Scalars);

TYPED_TEST(SamplerOf, DrawsTokensWithTheirProbabilities) {
  const std::vector<double> p{0.35, 0.05, 0.3, 0.01, 0.09, 0.2};
  EXPECT_LT(chi_square(draws(logits_of<TypeParam>(p), {}, 1, many), p), bound);
  EXPECT_LT(chi_square(draws(logits_of<TypeParam>(p, -80), {}, 2, many), p), bound) << "far from 0";
  EXPECT_GT(chi_square(draws(logits_of<TypeParam>(p), {}, 1, many), {0.34, 0.06, 0.3, 0.01, 0.09, 0.2}), bound)
      << "the test must detect an error of 0.01";
}

TYPED_TEST(SamplerOf, TemperatureDividesTheLogits) {
  const std::vector<double> p{0.35, 0.05, 0.3, 0.01, 0.09, 0.2};
  for (const double temperature : {0.5, 2.0}) {
    std::vector<double> expected;
    double sum = 0;
    for (const double x : p) {
      expected.push_back(std::pow(x, 1 / temperature));
      sum += expected.back();
    }
    for (double& x : expected) {
      x /= sum;
    }
    EXPECT_LT(chi_square(draws(logits_of<TypeParam>(p), {.temperature = temperature}, 3, many), expected), bound);
  }
}

TYPED_TEST(SamplerOf, RenormalizesOverKeptTokens) {
  const std::vector<double> p{0.35, 0.05, 0.3, 0.01, 0.09, 0.2};
  const auto logits = logits_of<TypeParam>(p);
  const std::vector<double> three{0.35 / 0.85, 0, 0.3 / 0.85, 0, 0, 0.2 / 0.85};
  EXPECT_LT(chi_square(draws(logits, {.top_k = 3}, 4, many), three), bound);
  EXPECT_LT(chi_square(draws(logits, {.top_p = 0.8}, 5, many), three), bound);
}

TYPED_TEST(SamplerOf, TopKKeepsTheMostProbable) {
  const auto logits = logits_of<TypeParam>({0.35, 0.05, 0.3, 0.01, 0.09, 0.2});
  EXPECT_EQ(support(logits, {.top_k = 1}), (std::set<Index>{0}));
  EXPECT_EQ(support(logits, {.top_k = 2}), (std::set<Index>{0, 2}));
  EXPECT_EQ(support(logits, {.top_k = 4}), (std::set<Index>{0, 2, 4, 5}));
  for (const Index k : {0, 6, 1000}) {
    EXPECT_EQ(draws(logits, {.top_k = k}, 6, 200), draws(logits, {}, 6, 200)) << k << " keeps all tokens";
  }
}

TYPED_TEST(SamplerOf, TopPKeepsTheSmallestSufficientSet) {
  const auto logits = logits_of<TypeParam>({0.35, 0.05, 0.3, 0.01, 0.09, 0.2});
  EXPECT_EQ(support(logits, {.top_p = 1e-300}), (std::set<Index>{0})) << "keeps at least one";
  EXPECT_EQ(support(logits, {.top_p = 0.34}), (std::set<Index>{0}));
  EXPECT_EQ(support(logits, {.top_p = 0.36}), (std::set<Index>{0, 2}));
  EXPECT_EQ(support(logits, {.top_p = 0.66}), (std::set<Index>{0, 2, 5}));
  EXPECT_EQ(support(logits, {.top_p = 0.86}), (std::set<Index>{0, 2, 4, 5}));
  EXPECT_EQ(support(logits, {.top_p = 0.995}), (std::set<Index>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(support(row_of<TypeParam>({1, 1, 1, 1}), {.top_p = 0.5}), (std::set<Index>{0, 1})) << "reaching p is enough";
}

TYPED_TEST(SamplerOf, TopPAppliesAfterTopKAndTemperature) {
  const auto logits = logits_of<TypeParam>({0.35, 0.05, 0.3, 0.01, 0.09, 0.2});
  EXPECT_EQ(support(logits, {.top_k = 2, .top_p = 0.53}), (std::set<Index>{0})) << "0.35 of 0.65 suffices";
  EXPECT_EQ(support(logits, {.top_k = 2, .top_p = 0.55}), (std::set<Index>{0, 2}));
  EXPECT_EQ(support(logits, {.temperature = 0.5, .top_p = 0.46}), (std::set<Index>{0})) << "0.1225 of 0.2632 is 0.465";
  EXPECT_EQ(support(logits, {.temperature = 0.5, .top_p = 0.47}), (std::set<Index>{0, 2}));
}

TYPED_TEST(SamplerOf, PrefersTheFirstOfEqualLogits) {
  const auto logits = row_of<TypeParam>({0, 3, 3, -1, 3, 2});
  EXPECT_EQ(support(logits, {.temperature = 0}), (std::set<Index>{1}));
  EXPECT_EQ(support(logits, {.top_k = 1}), (std::set<Index>{1}));
  EXPECT_EQ(support(logits, {.top_k = 2}), (std::set<Index>{1, 2}));
  EXPECT_EQ(support(logits, {.top_p = 0.01}), (std::set<Index>{1}));
  EXPECT_EQ(support(logits, {.temperature = 1e300, .top_k = 4}), (std::set<Index>{1, 2, 4, 5}))
      << "compares logits, even if their exponentials are equal";
}

TYPED_TEST(SamplerOf, GreedyTakesTheLargestLogitWithoutDrawing) {
  Sampler<TypeParam> greedy(300, {.temperature = 0, .top_k = 7, .top_p = 0.3}, Random(9));
  Sampler<TypeParam> narrow(300, {.top_k = 1}, Random(9));
  Sampler<TypeParam> cold(300, {.temperature = 1e-300}, Random(9));
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto logits = random_matrix<TypeParam>(1, 300, seed);
    Index expected = 0;
    logits.row(0).maxCoeff(&expected);
    EXPECT_EQ(greedy(logits), expected);
    EXPECT_EQ(narrow(logits), expected);
    EXPECT_EQ(cold(logits), expected);
  }
  EXPECT_EQ(greedy.random().state(), Random(9).state());
}

TYPED_TEST(SamplerOf, ReproducesTokensOnEveryPlatform) {
  const auto logits = logits_of<TypeParam>({0.35, 0.05, 0.3, 0.01, 0.09, 0.2});
  EXPECT_EQ(draws(logits, {}, 7, 12), (std::vector<Index>{0, 0, 4, 2, 5, 2, 4, 0, 5, 0, 0, 0}));
  EXPECT_EQ(draws(logits, {.top_k = 4}, 7, 12), (std::vector<Index>{0, 0, 5, 2, 4, 2, 5, 0, 4, 0, 0, 0}));
  EXPECT_NE(draws(logits, {}, 7, 12), draws(logits, {}, 8, 12));
}

TYPED_TEST(SamplerOf, DrawsOneUniformPerToken) {
  const auto logits = random_matrix<TypeParam>(1, 50, 1);
  for (const Sampling& sampling : {Sampling{}, Sampling{.top_k = 5}, Sampling{.top_p = 0.5}}) {
    Sampler<TypeParam> sampler(50, sampling, Random(3));
    Random random(3);
    for (int i = 0; i < 10; ++i) {
      sampler(logits);
      random.uniform();
      EXPECT_EQ(sampler.random().state(), random.state());
    }
    Sampler<TypeParam> continued(50, sampling, Random(sampler.random().state()));
    EXPECT_EQ(continued(logits), sampler(logits));
  }
}

TYPED_TEST(SamplerOf, NeverDrawsMinusInfinity) {
  const auto logits = row_of<TypeParam>({-infinity, 0, -infinity, 0, -infinity});
  for (const Sampling& sampling :
       {Sampling{}, Sampling{.top_k = 4}, Sampling{.top_p = 0.999999}, Sampling{.temperature = 1e9}}) {
    EXPECT_EQ(support(logits, sampling), (std::set<Index>{1, 3}));
  }
  EXPECT_EQ(support(row_of<TypeParam>({-infinity, -infinity, -500}), {}), (std::set<Index>{2}));
  EXPECT_EQ(support(row_of<TypeParam>({-infinity, -infinity, -500}), {.temperature = 0}), (std::set<Index>{2}));
}

TYPED_TEST(SamplerOf, HandlesUniformsOfZeroAndAlmostOne) {
  const auto logits = row_of<TypeParam>({-infinity, 0.1, 0.3, 0.2, -infinity});
  const Random::State zero{0, 1, 2, 0}, almost_one{0, 1, 2, ~std::uint64_t{0}};
  ASSERT_EQ(Random(zero).uniform(), 0);
  ASSERT_EQ(Random(almost_one).uniform(), 1 - 0x1p-53);
  const auto drawn = [&](const Random::State& state, const Sampling& sampling) {
    return Sampler<TypeParam>(5, sampling, Random(state))(logits);
  };
  EXPECT_EQ(drawn(zero, {}), 1);
  EXPECT_EQ(drawn(almost_one, {}), 3);
  EXPECT_EQ(drawn(zero, {.top_k = 4}), 2) << "sorted by probability";
  EXPECT_EQ(drawn(almost_one, {.top_k = 4}), 1);
  EXPECT_EQ(drawn(almost_one, {.top_p = 0.5}), 3);
}

TYPED_TEST(SamplerOf, PlusInfinityWins) {
  const auto logits = row_of<TypeParam>({5, infinity, -infinity, infinity, 1000});
  for (const Sampling& sampling : {Sampling{}, Sampling{.top_k = 4}, Sampling{.top_p = 0.9}, Sampling{.temperature = 1e9}}) {
    EXPECT_EQ(support(logits, sampling), (std::set<Index>{1, 3}));
  }
  EXPECT_EQ(support(logits, {.temperature = 0}), (std::set<Index>{1}));
  EXPECT_EQ(support(row_of<TypeParam>({-infinity, infinity}), {}), (std::set<Index>{1}));
}

TYPED_TEST(SamplerOf, HandlesHugeLogits) {
  const double largest = static_cast<double>(std::numeric_limits<TypeParam>::max());
  const auto logits = row_of<TypeParam>({-largest, largest, 0, largest});
  for (const Sampling& sampling : {Sampling{}, Sampling{.temperature = 5e-324}, Sampling{.top_k = 3}, Sampling{.top_p = 0.9}}) {
    EXPECT_EQ(support(logits, sampling), (std::set<Index>{1, 3}));
  }
}

TYPED_TEST(SamplerOf, AllocatesNothingAfterConstruction) {
  const auto logits = random_matrix<TypeParam>(3, 5000, 1);
  EXPECT_TRUE(test::allocations_are_counted());
  for (const Sampling& sampling : {Sampling{.temperature = 0}, Sampling{}, Sampling{.top_k = 40}, Sampling{.top_p = 0.9},
                                   Sampling{.temperature = 0.7, .top_k = 40, .top_p = 0.9}}) {
    Sampler<TypeParam> sampler(5000, sampling, Random(1));
    EXPECT_EQ(test::allocations_during([&] {
                for (Index i = 0; i < 30; ++i) {
                  sampler(logits.row(i % 3));
                }
              }),
              0);
  }
}

TYPED_TEST(SamplerOf, RefusesNaNAndImpossibleLogitsWithoutDrawing) {
  for (const double temperature : {0.0, 1.0}) {
    Sampler<TypeParam> sampler(3, {.temperature = temperature}, Random(1));
    for (const Index at : {0, 1, 2}) {
      auto logits = row_of<TypeParam>({1, 2, infinity});
      logits(0, at) = static_cast<TypeParam>(nan);
      EXPECT_EQ(message_of<ArgumentError>([&] { sampler(logits); }),
                text("Sampler: logit ", at, " is NaN. Look for an overflow in the model."));
    }
    EXPECT_EQ(message_of<ArgumentError>([&] {
                sampler(row_of<TypeParam>({-infinity, -infinity, -infinity}));
              }),
              "Sampler: all 3 logits are -inf, expected at least one possible token.");
    EXPECT_EQ(message_of<ShapeError>([&] { sampler(Matrix<TypeParam>::Zero(1, 4)); }),
              "Sampler: logits is 1 × 4, expected 1 × vocabulary = 3: the last token's row.");
    EXPECT_THROW(sampler(Matrix<TypeParam>::Zero(2, 3)), ShapeError);
    EXPECT_THROW(sampler(Matrix<TypeParam>(0, 3)), ShapeError);
    EXPECT_EQ(sampler.random().state(), Random(1).state());
  }
}

TEST(Sampler, RefusesSettingsOutOfRange) {
  const auto message = [](const Sampling& sampling) {
    return message_of<ArgumentError>([&] { Sampler<float> sampler(4, sampling); });
  };
  EXPECT_EQ(message({.temperature = -0.5}),
            "Sampler: temperature = -0.5, expected a finite number ≥ 0; 0 picks the most probable token.");
  EXPECT_NE(message({.temperature = nan}).find("temperature = nan"), std::string::npos);
  EXPECT_NE(message({.temperature = infinity}).find("temperature = inf"), std::string::npos);
  EXPECT_EQ(message({.top_k = -1}), "Sampler: top_k = -1, expected ≥ 0; 0 keeps all tokens.");
  EXPECT_EQ(message({.top_p = 0}), "Sampler: top_p = 0, expected 0 < top_p ≤ 1; 1 keeps all tokens.");
  for (const double p : {-0.1, 1.0001, nan, infinity}) {
    EXPECT_NE(message({.top_p = p}).find("top_p = "), std::string::npos) << p;
  }
  EXPECT_EQ(message_of<ArgumentError>([] { Sampler<float> sampler(0); }), "Sampler: vocabulary = 0 must be positive.");
  EXPECT_NO_THROW(Sampler<float>(1, {.temperature = 0, .top_k = 9, .top_p = 1e-9}));
}

TEST(Sampler, HandlesAVocabularyOfOne) {
  Sampler<float> sampler(1, {.top_k = 1, .top_p = 0.5}, Random(1));
  EXPECT_EQ(sampler(Matrix<float>::Constant(1, 1, -3)), 0);
}

TEST(Sampling, ListsItsSettings) {
  std::vector<std::string> names;
  Sampling sampling;
  for_each_setting([&](const char* name, const auto&) { names.push_back(name); }, sampling);
  EXPECT_EQ(names, (std::vector<std::string>{"temperature", "top_k", "top_p"}));
}

}  // namespace
}  // namespace gated::sampling_test
