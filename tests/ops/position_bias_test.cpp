#include "gated/ops/position_bias.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/numbers.hpp"

namespace gated::position_bias_test {
namespace {

using test::close;

TEST(T5Bucket, BucketsStartAtTheirPublishedDistances) {
  const std::vector<Index> two_sided{8, 12, 16, 23, 32, 46, 64, 91};                                 // buckets 8 … 15
  const std::vector<Index> causal{16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};  // buckets 16 … 31
  for (std::size_t i = 0; i < two_sided.size(); ++i) {
    const auto bucket = static_cast<Index>(8 + i);
    EXPECT_EQ(t5_bucket(two_sided[i], {.causal = false}), bucket);
    EXPECT_EQ(t5_bucket(two_sided[i] - 1, {.causal = false}), bucket - 1);
    EXPECT_EQ(t5_bucket(-two_sided[i], {.causal = false}), 16 + bucket) << "keys after the query";
    EXPECT_EQ(t5_bucket(-two_sided[i] + 1, {.causal = false}), 16 + bucket - 1);
  }
  for (std::size_t i = 0; i < causal.size(); ++i) {
    const auto bucket = static_cast<Index>(16 + i);
    EXPECT_EQ(t5_bucket(causal[i], {.causal = true}), bucket);
    EXPECT_EQ(t5_bucket(causal[i] - 1, {.causal = true}), bucket - 1);
  }
}

TEST(T5Bucket, SmallDistancesHaveTheirOwnBuckets) {
  for (Index m = 0; m < 16; ++m) {
    EXPECT_EQ(t5_bucket(m, {.causal = true}), m);
    EXPECT_EQ(t5_bucket(m % 8, {.causal = false}), m % 8);
  }
}

TEST(T5Bucket, FutureKeysShareTheFirstBucketIfCausal) {
  for (const Index m : {-1, -7, -128, -100000}) {
    EXPECT_EQ(t5_bucket(m, {.causal = true}), 0);
  }
}

TEST(T5Bucket, FarDistancesShareTheLastBucket) {
  for (const Index m : {128, 129, 5000, 1000000000}) {
    EXPECT_EQ(t5_bucket(m, {.causal = true}), 31);
    EXPECT_EQ(t5_bucket(m, {.causal = false}), 15);
    EXPECT_EQ(t5_bucket(-m, {.causal = false}), 31);
  }
}

TEST(T5Bias, LooksUpAndScalesTheBucketOfEachOffset) {
  const Vector<double> table = test::random_vector<double>(32, 1);
  const Index n = 150;
  for (const bool causal : {false, true}) {
    std::vector<double> relative(2 * n - 1);
    t5_bias<double>(table.data(), {.causal = causal, .buckets = table.size()}, 2.5, n, relative.data());
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        ASSERT_EQ(relative[static_cast<std::size_t>(n - 1 + j - i)], table[t5_bucket(i - j, {.causal = causal})] * 2.5)
            << i << ", " << j;
      }
    }
  }
}

TEST(T5Bias, AccumulatesGradientsPerBucket) {
  const Index n = 150;
  for (const bool causal : {false, true}) {
    for (const Index buckets : {4, 32}) {
      const Vector<double> upstream = test::random_vector<double>(2 * n - 1, 2);
      Vector<double> gradient = Vector<double>::Constant(buckets, 5), expected = gradient;
      const T5Buckets form{.causal = causal, .buckets = buckets};
      t5_bias_backward<double>(form, 2.5, n, upstream.data(), gradient.data());
      for (Index offset = 1 - n; offset < n; ++offset) {
        expected[t5_bucket(-offset, form)] += 2.5 * upstream[n - 1 + offset];
      }
      EXPECT_LE((gradient - expected).cwiseAbs().maxCoeff(), 1e-12);
    }
  }
}

template <class T>
class SinusoidOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SinusoidOf, Scalars, );

TYPED_TEST(SinusoidOf, AddsSinesThenCosines) {
  using T = TypeParam;
  Vector<T> frequencies(3);
  frequencies << T(1), T(0.25), T(0.01);
  const auto x = test::random_matrix<T>(5, 6, 1);
  Matrix<T> y = x;
  add_sinusoid<T>(frequencies, 7, T(0.5), y);
  for (Index t = 0; t < 5; ++t) {
    for (Index k = 0; k < 3; ++k) {
      const long double angle = static_cast<long double>(7 + t) * static_cast<long double>(frequencies[k]);
      const long double tolerance = sizeof(T) == 4 ? 1e-6L : 1e-14L;
      EXPECT_TRUE(close(y(t, k), static_cast<long double>(x(t, k)) + 0.5L * std::sin(angle), tolerance));
      EXPECT_TRUE(close(y(t, 3 + k), static_cast<long double>(x(t, 3 + k)) + 0.5L * std::cos(angle), tolerance));
    }
  }
}

/// Channel j of the interleaved sinusoid at position p.
long double interleaved(const Vector<double>& frequencies, Index p, Index j) {
  const long double angle = static_cast<long double>(p) * static_cast<long double>(frequencies[j / 2]);
  return j % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

TEST(InterleavedSinusoid, AlternatesSinesAndCosines) {
  Vector<double> frequencies(2);
  frequencies << 1, 0.01;
  const auto x = test::random_matrix<double>(70, 4, 1);
  Matrix<double> y = x;
  add_interleaved_sinusoid<double>(frequencies, 5, y);
  for (Index t = 0; t < y.rows(); ++t) {
    for (Index j = 0; j < 4; ++j) {
      EXPECT_TRUE(close(y(t, j), static_cast<long double>(x(t, j)) + interleaved(frequencies, 5 + t, j), 1e-14L));
    }
  }
}

TEST(OffsetSinusoids, EncodeTheDistanceBetweenQueryAndKey) {
  Vector<double> frequencies(2);
  frequencies << 1, 0.01;
  for (const auto& [first, rows] : {std::pair<Index, Index>{-69, 139}, {-69, 70}, {-69, 3}, {-69, 72}, {0, 1}}) {
    Matrix<double> table(rows, 4);
    offset_sinusoids<double>(frequencies, first, table);
    for (Index t = 0; t < rows; ++t) {
      for (Index j = 0; j < 4; ++j) {
        EXPECT_TRUE(close(table(t, j), interleaved(frequencies, -(first + t), j), 1e-14L)) << first + t;
      }
    }
  }
}

}  // namespace
}  // namespace gated::position_bias_test
