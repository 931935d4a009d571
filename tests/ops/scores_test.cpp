#include "gated/ops/scores.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <vector>

#include "gated/core/settings.hpp"
#include "tests/core/numbers.hpp"

namespace gated {
namespace {

using test::random_matrix;
using test::same_bits;

constexpr ScoreKernel kernels[]{ScoreKernel::relu2, ScoreKernel::laplace, ScoreKernel::laplace_legacy, ScoreKernel::softmax,
                                ScoreKernel::softmax_plus};

bool is_softmax(ScoreKernel kernel) { return kernel == ScoreKernel::softmax || kernel == ScoreKernel::softmax_plus; }

long double weigh(ScoreKernel kernel, long double score) {
  const long double pi = std::numbers::pi_v<long double>;
  const long double sigma = kernel == ScoreKernel::laplace ? std::sqrt(1 / (4 * pi)) : std::sqrt(pi / 4);
  return kernel == ScoreKernel::relu2 ? std::max(score, 0.0L) * std::max(score, 0.0L)
         : is_softmax(kernel)         ? std::exp(score)
                                      : (1 + std::erf((score - std::sqrt(0.5L)) / (sigma * std::sqrt(2.0L)))) / 2;
}

/// Queries that stand from `first` on among keys, and every option of how they are scored.
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
    scoring.keys = keys.data();
    scoring.queries = rows ? queries.data() : nullptr;
  }

  template <class... Stages>
  Matrix<T> run(int threads, const Stages&... stages) const {
    Matrix<T> y(q.rows(), v.cols());
    Workspace<T> workspace(Threads{threads});
    attend<T>(q, k, v, first, scoring, y, workspace, stages...);
    return y;
  }

  Matrix<long double> literal() const {
    Matrix<long double> y = Matrix<long double>::Zero(q.rows(), v.cols());
    for (Index i = 0; i < q.rows(); ++i) {
      long double sum = 0;
      std::vector<long double> weights(static_cast<std::size_t>(k.rows()), 0);
      for (Index j = 0; j < k.rows(); ++j) {
        const auto at = static_cast<std::size_t>(j);
        if ((scoring.keys != nullptr && keys[at] == 0) || (scoring.causal && j > first + i)) {
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
      const bool dropped = scoring.queries != nullptr && queries[static_cast<std::size_t>(first + i)] == 0;
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

TYPED_TEST(ScoresOf, EveryKernelAndOptionEqualsTheLiteralFormula) {
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

TYPED_TEST(ScoresOf, SeveralBlocksOfQueriesEqualTheLiteralFormula) {
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

TYPED_TEST(ScoresOf, HiddenKeysMayHoldHugeScoresInEveryKernel) {
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

TYPED_TEST(ScoresOf, FutureKeysMayHoldAnythingInEveryKernel) {
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

TYPED_TEST(ScoresOf, DroppedQueriesBecomeZeroHoweverLargeTheirScores) {
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

TYPED_TEST(ScoresOf, AppliesItsStagesToTheRowsOfTheWholeOutput) {
  Attention<TypeParam> attention(150, 150, 0);
  attention.scoring.scale = TypeParam(0.1);
  const auto gate = random_matrix<TypeParam>(150, 7, 6);
  const Matrix<TypeParam> expected = attention.run(1).cwiseProduct(gate);
  EXPECT_TRUE(same_bits(attention.run(1, Multiply<TypeParam>(gate)), expected));
}

TYPED_TEST(ScoresOf, OfNoKeysOrNoQueriesAreNothing) {
  for (const ScoreKernel kernel : kernels) {
    Attention<TypeParam> none(0, 4, 0), alone(3, 0, 0);
    none.scoring.kernel = alone.scoring.kernel = kernel;
    EXPECT_EQ(none.run(1).rows(), 0);
    EXPECT_TRUE((alone.run(1).array() == 0).all()) << name_of(kernel);
  }
}

TYPED_TEST(ScoresOf, MaskedSoftmaxIgnoresWhatHiddenColumnsHold) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN(), huge = std::numeric_limits<TypeParam>::max();
  const std::vector<TypeParam> keys{1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1};
  Workspace<TypeParam> workspace;
  const auto of = [&](Matrix<TypeParam> x) {
    softmax<TypeParam>(x, false, workspace, 0, keys.data());
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
}  // namespace gated
