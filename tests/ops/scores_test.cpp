#include "gated/ops/scores.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <vector>

#include "gated/core/settings.hpp"
#include "tests/core/numbers.hpp"

namespace gated::scores_test {
namespace {

using test::random_matrix;
using test::same_bits;

constexpr ScoreKernel kernels[]{ScoreKernel::relu2, ScoreKernel::laplace, ScoreKernel::laplace_legacy, ScoreKernel::softmax,
                                ScoreKernel::softmax_plus};

long double weigh(ScoreKernel kernel, long double score) {
  const long double pi = std::numbers::pi_v<long double>;
  const long double sigma = kernel == ScoreKernel::laplace ? std::sqrt(1 / (4 * pi)) : std::sqrt(pi / 4);
  return kernel == ScoreKernel::relu2 ? std::max(score, 0.0L) * std::max(score, 0.0L)
         : is_softmax(kernel)         ? std::exp(score)
                                      : (1 + std::erf((score - std::sqrt(0.5L)) / (sigma * std::sqrt(2.0L)))) / 2;
}

/// Attention inputs, with every scoring option. The first query has the position of key `first`.
template <class T>
struct Attention {
  Index first = 0;
  Matrix<T> q, k, v;
  std::vector<T> relative, keys, queries;
  Matrix<T> bias;
  Scoring<T> scoring{};

  Attention(Index queries_count, Index keys_count, Index first_)
      : first(first_),
        q(random_matrix<T>(queries_count, 5, 1)),
        k(random_matrix<T>(keys_count, 5, 2)),
        v(random_matrix<T>(keys_count, 7, 3)),
        bias(random_matrix<T>(keys_count, keys_count + 3, 4)) {}

  void use_relative() {
    const Vector<T> values = test::random_vector<T>(2 * k.rows() - 1, 5);
    relative.assign(values.data(), values.data() + values.size());
    scoring.relative = relative.data() + k.rows() - 1;
  }
  void use_bias() {
    scoring.bias = bias.data();
    scoring.bias_stride = bias.outerStride();
  }
  void use_masks(bool rows) {
    for (Index j = 0; j < k.rows(); ++j) {
      keys.push_back(j % 3 == 1 ? T{0} : T{1});
      queries.push_back(j % 4 == 3 ? T{0} : T{1});
    }
    scoring.visible_keys = keys.data();
    scoring.visible_queries = rows ? queries.data() : nullptr;
  }

  Matrix<T> run(int threads, const Epilogue<T>& epilogue = {}, const WeightsWatcher<T>& watch = {}) const {
    Matrix<T> y(q.rows(), v.cols());
    Workspace<T> workspace(Threads{threads});
    attend<T>(q, k, v, first, scoring, y, workspace, epilogue, watch);
    return y;
  }

  Matrix<long double> literal() const {
    Matrix<long double> y = Matrix<long double>::Zero(q.rows(), v.cols());
    for (Index i = 0; i < q.rows(); ++i) {
      long double sum = 0;
      std::vector<long double> weights(static_cast<std::size_t>(k.rows()), 0);
      for (Index j = 0; j < k.rows(); ++j) {
        const auto at = static_cast<std::size_t>(j);
        if ((scoring.visible_keys != nullptr && keys[at] == 0) || (scoring.causal && j > first + i)) {
          continue;
        }
        long double score = 0, added = 0;
        for (Index d = 0; d < q.cols(); ++d) {
          score += static_cast<long double>(q(i, d)) * static_cast<long double>(k(j, d));
        }
        added += scoring.relative != nullptr ? static_cast<long double>(scoring.relative[j - first - i]) : 0;
        added += scoring.bias != nullptr ? static_cast<long double>(bias(first + i, j)) : 0;
        const auto scale = static_cast<long double>(scoring.scale);
        weights[at] = weigh(scoring.kernel, scoring.bias_inside ? (score + added) * scale : score * scale + added);
        sum += weights[at];
      }
      const bool dropped = scoring.visible_queries != nullptr && queries[static_cast<std::size_t>(first + i)] == 0;
      for (Index j = 0; j < k.rows(); ++j) {
        long double weight = weights[static_cast<std::size_t>(j)];
        weight = is_softmax(scoring.kernel) && sum > 0 ? weight / sum : weight;
        weight *= dropped ? 0 : static_cast<long double>(scoring.weight_scale);
        for (Index d = 0; d < v.cols(); ++d) {
          y(i, d) += weight * static_cast<long double>(v(j, d));
        }
      }
    }
    return y;
  }
};

template <class T>
class ScoresOf : public ::testing::Test {
 protected:
  static void expect_literal(const Attention<T>& attention, const std::string& what) {
    const Matrix<T> y = attention.run(1);
    const Matrix<long double> expected = attention.literal();
    const long double tolerance = (sizeof(T) == 4 ? 1e-5L : 1e-13L) * (expected.cwiseAbs().maxCoeff() + 1e-3L);
    for (Index i = 0; i < y.rows(); ++i) {
      for (Index d = 0; d < y.cols(); ++d) {
        ASSERT_TRUE(test::close(y(i, d), expected(i, d), tolerance)) << what << " at " << i << ", " << d;
      }
    }
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ScoresOf, Scalars, );

TYPED_TEST(ScoresOf, EqualTheirFormulaForEveryKernelAndOption) {
  for (const ScoreKernel kernel : kernels) {
    for (int options = 0; options < 64; ++options) {
      const auto option = [&](int bit) { return (options >> bit & 1) != 0; };
      Attention<TypeParam> attention(6, 13, 4);
      attention.scoring = {.kernel = kernel,
                           .scale = TypeParam(0.4),
                           .weight_scale = option(0) ? TypeParam(0.7) : TypeParam(1),
                           .bias_inside = option(1),
                           .causal = option(2)};
      if (option(3)) {
        attention.use_relative();
      }
      if (option(4)) {
        attention.use_bias();
      }
      if (option(5)) {
        attention.use_masks(option(0));
      }
      this->expect_literal(attention, text(name_of(kernel), ", options ", options));
    }
  }
}

TYPED_TEST(ScoresOf, EqualTheirFormulaAcrossBlocksOfQueries) {
  for (const ScoreKernel kernel : kernels) {
    for (const bool causal : {false, true}) {
      Attention<TypeParam> attention(290, 310, 20);
      attention.scoring = {.kernel = kernel, .scale = TypeParam(0.1), .causal = causal};
      attention.use_relative();
      attention.use_masks(true);
      this->expect_literal(attention, std::string(name_of(kernel)));
      EXPECT_TRUE(same_bits(attention.run(3), attention.run(1)));
    }
  }
}

TYPED_TEST(ScoresOf, IgnoreHugeScoresOfHiddenKeys) {
  for (const ScoreKernel kernel : kernels) {
    Attention<TypeParam> attention(6, 13, 4);
    attention.scoring.kernel = kernel;
    attention.use_masks(false);
    const Matrix<TypeParam> y = attention.run(1);
    attention.k.row(1) *= std::numeric_limits<TypeParam>::max() / 100;
    attention.k.row(4) *= -std::numeric_limits<TypeParam>::max() / 100;
    attention.k.row(7).setConstant(std::numeric_limits<TypeParam>::quiet_NaN());
    EXPECT_TRUE(same_bits(attention.run(1), y)) << name_of(kernel);
  }
}

TYPED_TEST(ScoresOf, IgnoreFutureKeys) {
  for (const ScoreKernel kernel : kernels) {
    Attention<TypeParam> attention(6, 13, 4);
    attention.scoring.kernel = kernel;
    attention.scoring.causal = true;
    const Matrix<TypeParam> y = attention.run(1);
    attention.k.row(8).setConstant(std::numeric_limits<TypeParam>::quiet_NaN());
    attention.k.row(9) *= std::numeric_limits<TypeParam>::max() / 100;
    attention.k.bottomRows(3).setConstant(std::numeric_limits<TypeParam>::infinity());
    const Matrix<TypeParam> got = attention.run(1);
    EXPECT_TRUE(same_bits(Matrix<TypeParam>(got.topRows(4)), Matrix<TypeParam>(y.topRows(4)))) << name_of(kernel);
  }
}

TYPED_TEST(ScoresOf, AreZeroForMaskedQueries) {
  for (const ScoreKernel kernel : kernels) {
    Attention<TypeParam> attention(13, 13, 0);
    attention.scoring.kernel = kernel;
    attention.use_masks(true);
    attention.q.row(3) *= std::numeric_limits<TypeParam>::max() / 100;
    attention.q.row(7).setConstant(std::numeric_limits<TypeParam>::quiet_NaN());
    const Matrix<TypeParam> y = attention.run(1);
    EXPECT_TRUE((y.row(3).array() == 0).all()) << name_of(kernel);
    EXPECT_TRUE((y.row(7).array() == 0).all()) << name_of(kernel);
    EXPECT_TRUE(y.allFinite()) << name_of(kernel);
  }
}

TYPED_TEST(ScoresOf, NeverReadFutureKeysAndValues) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity(), huge = std::numeric_limits<T>::max();
  for (const ScoreKernel kernel : kernels) {
    for (const auto& [queries, first] : {std::pair<Index, Index>{40, 0}, {1, 12}, {9, 31}, {270, 3}}) {  // 270: 2 query blocks
      const Index count = first + queries + 2;
      Attention<T> attention(queries, count, first);
      attention.scoring = {.kernel = kernel, .scale = T(0.3), .causal = true};
      attention.use_relative();
      attention.use_bias();
      attention.use_masks(false);
      const Matrix<T> y = attention.run(1);
      ASSERT_TRUE(y.allFinite());
      for (Index hidden = first; hidden<count; hidden += queries> 40 ? 29 : 1) {
        Attention<T> spoilt = attention;
        const T what = hidden % 4 == 0 ? infinity : hidden % 4 == 1 ? -infinity : hidden % 4 == 2 ? huge : infinity - infinity;
        spoilt.k.bottomRows(count - hidden).setConstant(what);
        spoilt.v.bottomRows(count - hidden).setConstant(what);
        spoilt.bias.rightCols(spoilt.bias.cols() - hidden).setConstant(what);
        spoilt.use_bias();
        spoilt.use_relative();
        std::fill(spoilt.relative.begin() + count, spoilt.relative.end(), what);  // the biases of later keys
        const Index before = std::min(hidden - first, queries);                   // queries before the spoilt keys
        ASSERT_TRUE(same_bits(spoilt.run(1).topRows(before), y.topRows(before)))
            << name_of(kernel) << ", token " << hidden << ", " << queries << " queries from " << first;
      }
      attention.v.row(first + queries / 2).setConstant(infinity);
      attention.keys[static_cast<std::size_t>(first + queries / 2)] = 1;
      EXPECT_FALSE(attention.run(1).row(queries / 2).allFinite()) << "visible keys must be read";
    }
  }
}

TYPED_TEST(ScoresOf, TreatEachQueryIndependently) {
  using T = TypeParam;
  for (const ScoreKernel kernel : kernels) {
    for (const bool causal : {false, true}) {
      Attention<T> attention(270, 275, 3);
      attention.scoring = {.kernel = kernel, .scale = T(0.3), .causal = causal};
      attention.use_relative();
      const Matrix<T> y = attention.run(1);
      for (Index i = 0; i < 270; i += i % 7 == 0 ? 1 : 12) {
        Attention<T> alone = attention;
        alone.q = attention.q.row(i);
        alone.first = 3 + i;
        if (causal) {  // leaves out later keys, as a stream does
          alone.k = attention.k.topRows(3 + i + 1);
          alone.v = attention.v.topRows(3 + i + 1);
        }
        ASSERT_TRUE(same_bits(alone.run(1), y.row(i))) << name_of(kernel) << ", query " << i << ", causal " << causal;
      }
    }
  }
}

TYPED_TEST(ScoresOf, ApplyAnEpilogueAcrossBlocksOfQueries) {
  using T = TypeParam;
  for (const bool causal : {false, true}) {
    Attention<T> attention(300, 300, 0);  // two blocks of queries
    attention.scoring.scale = T(0.1);
    attention.scoring.causal = causal;
    const auto gate = random_matrix<T>(300, 7, 6), residual = random_matrix<T>(300, 7, 7);
    const Matrix<T> plain = attention.run(1);
    EXPECT_TRUE(same_bits(attention.run(1, {.gate = gate}), Matrix<T>(plain.cwiseProduct(gate))));
    EXPECT_TRUE(same_bits(attention.run(1, {.residual = residual}), Matrix<T>(plain + residual)));
  }
}

TYPED_TEST(ScoresOf, ShowAllWeightsOfASequenceInOneCall) {
  using T = TypeParam;
  for (const ScoreKernel kernel : kernels) {
    Attention<T> attention(300, 310, 10);
    attention.scoring = {.kernel = kernel, .scale = T(0.1), .causal = true};
    attention.k.row(309).setConstant(std::numeric_limits<T>::quiet_NaN());  // visible to the last query only
    int shown = 0;
    Matrix<T> weights;
    const Matrix<T> watched = attention.run(1, {}, [&](Index part, const ConstView<T>& a) {
      EXPECT_EQ(part, 0);
      weights = a;
      ++shown;
    });
    EXPECT_EQ(shown, 1);
    EXPECT_TRUE(same_bits(watched, attention.run(1))) << "watching changes nothing";
    ASSERT_EQ(weights.rows(), 300);
    ASSERT_EQ(weights.cols(), 310);
    for (Index i = 0; i < 300; i += 37) {
      EXPECT_TRUE((weights.row(i).tail(299 - i).array() == 0).all()) << name_of(kernel);
      Matrix<double> sum = weights.row(i).template cast<double>() * attention.v.template cast<double>();
      EXPECT_LE((sum - watched.row(i).template cast<double>()).cwiseAbs().maxCoeff(), 1e-4);
    }
  }
}

TYPED_TEST(ScoresOf, HandleNoKeysOrNoQueries) {
  for (const ScoreKernel kernel : kernels) {
    Attention<TypeParam> none(0, 4, 0), alone(3, 0, 0);
    none.scoring.kernel = alone.scoring.kernel = kernel;
    EXPECT_EQ(none.run(1).rows(), 0);
    EXPECT_TRUE((alone.run(1).array() == 0).all()) << name_of(kernel);
  }
}

TYPED_TEST(ScoresOf, MaskedSoftmaxIgnoresHiddenColumns) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN(), huge = std::numeric_limits<TypeParam>::max();
  const std::vector<TypeParam> keys{1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1};
  Workspace<TypeParam> workspace;
  const auto of = [&](Matrix<TypeParam> x) {
    softmax<TypeParam>(x, workspace, {.visible_columns = keys.data()});
    return x;
  };
  Matrix<TypeParam> x = random_matrix<TypeParam>(3, 11, 7);
  const Matrix<TypeParam> y = of(x);
  for (const TypeParam value : {nan, huge, -huge, std::numeric_limits<TypeParam>::infinity()}) {
    for (Index j = 0; j < 11; ++j) {
      if (keys[static_cast<std::size_t>(j)] == 0) {
        x.col(j).setConstant(value);
      }
    }
    EXPECT_TRUE(same_bits(of(x), y)) << value;
  }
  for (Index i = 0; i < 3; ++i) {
    EXPECT_TRUE(test::close(y.row(i).sum(), 1, 1e-6L));
    for (const Index j : {1, 3, 4, 7}) {
      EXPECT_EQ(y(i, j), 0);
    }
  }
}

}  // namespace
}  // namespace gated::scores_test
