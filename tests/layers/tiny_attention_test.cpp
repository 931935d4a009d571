#include "gated/layers/tiny_attention.hpp"

#include <gtest/gtest.h>

#include "literal.hpp"

namespace gated {
namespace {

using test::near;
using test::random_matrix;
using test::wide;

template <class T>
TinyAttention<T> random_attention(Index channels, Index width, Index out, bool causal, bool bias = false) {
  TinyAttention<T> attention({.channels = channels, .width = width, .out = out, .causal = causal, .bias = bias});
  test::randomize(attention, 1);
  return attention;
}

template <class T>
Matrix<T> attend(const TinyAttention<T>& attention, const Matrix<T>& x, const Sequences& sequences, int threads = 1) {
  Matrix<T> y(x.rows(), attention.config.out);
  Workspace<T> workspace(Threads{threads});
  attention.forward(x, sequences, y, workspace);
  return y;
}

template <class T>
class TinyAttentionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TinyAttentionOf, Scalars, );

TYPED_TEST(TinyAttentionOf, WeighsTwoTokensByHand) {
  using T = TypeParam;
  TinyAttention<T> attention({.channels = 1, .width = 1, .out = 1});
  attention.qkv.weight << 1, 1, 10;  // q = k = x, v = 10 x
  attention.proj_out.weight << 2;
  attention.proj_out.bias << 5;
  Matrix<T> x(2, 1);
  x << 0, 1;  // token 0 looks at both alike, token 1 with weights 1 : e
  const double e = std::exp(1.0);
  Matrix<double> expected(2, 1);
  expected << 5 + 2 * 5, 5 + 2 * 10 * e / (1 + e);
  EXPECT_TRUE(near(attend(attention, x, Sequences::single(2)), expected));
  attention.config.causal = true;
  expected(0, 0) = 5;
  EXPECT_TRUE(near(attend(attention, x, Sequences::single(2)), expected));
}

TYPED_TEST(TinyAttentionOf, EqualsTheLiteralSoftmax) {
  using T = TypeParam;
  for (const bool causal : {false, true}) {
    for (const bool bias : {false, true}) {
      const auto attention = random_attention<T>(12, 5, 9, causal, bias);
      const auto sequences = Sequences::of_lengths({33, 1, 0, 150});  // 150 tokens are two blocks of scores
      const auto x = random_matrix<T>(sequences.total(), 12, 2);
      const Matrix<T> y = attend(attention, x, sequences);
      EXPECT_TRUE(near(y, literal::attention(attention, wide(x), sequences))) << causal << bias;
      EXPECT_TRUE(test::same_bits(attend(attention, x, sequences, 3), y)) << "threads";
    }
  }
}

TYPED_TEST(TinyAttentionOf, ScoresInTheHundredsStayFinite) {
  using T = TypeParam;
  const auto attention = random_attention<T>(12, 5, 9, false);
  EXPECT_TRUE(attend(attention, random_matrix<T>(20, 12, 2, 100.0), Sequences::single(20)).allFinite());
}

TYPED_TEST(TinyAttentionOf, CausalTokensNeverSeeTheFuture) {
  using T = TypeParam;
  const auto attention = random_attention<T>(12, 5, 9, true);
  const auto x = random_matrix<T>(20, 12, 2);
  const Matrix<T> y = attend(attention, x, Sequences::single(20));
  for (const Index t : {1, 8, 19}) {
    Matrix<T> changed = x;
    changed.row(t).array() *= T(1e15);
    EXPECT_TRUE(test::same_bits(attend(attention, changed, Sequences::single(20)).topRows(t), y.topRows(t))) << t;
  }
}

TYPED_TEST(TinyAttentionOf, ExtendsASequenceByOneOrManyTokens) {
  using T = TypeParam;
  const auto attention = random_attention<T>(12, 5, 9, true);
  const auto x = random_matrix<T>(20, 12, 2);
  const Matrix<double> whole = wide(attend(attention, x, Sequences::single(20)));
  Matrix<T> keys = Matrix<T>::Zero(20, 5), values = keys, y(20, 9);
  Workspace<T> workspace;
  for (const auto& [first, rows] : {std::pair<Index, Index>{0, 6}, {6, 1}, {7, 1}, {8, 12}}) {
    attention.extend(x.middleRows(first, rows), first, keys, values, y.middleRows(first, rows), workspace);
  }
  EXPECT_TRUE(near(y, whole));
}

TEST(TinyAttention, HasNoBiasOnQueryKeyAndValueUnlessAsked) {
  const TinyAttention<float> attention({.channels = 512, .width = 64, .out = 1536});
  EXPECT_EQ(parameter_count(attention), 512 * 3 * 64 + 64 * 1536 + 1536);
  const TinyAttention<float> biased({.channels = 512, .width = 64, .out = 1536, .bias = true});
  EXPECT_EQ(parameter_count(biased), parameter_count(attention) + 3 * 64);
}

TEST(TinyAttention, ShowsItsMapsToTheObserver) {
  const auto attention = random_attention<double>(12, 5, 9, true);
  Workspace<double> workspace;
  std::vector<std::string> paths;
  workspace.observe([&](const std::string& path, ConstView<double> map) {
    paths.push_back(path);
    if (path.starts_with("attention_map")) {
      EXPECT_EQ(map.rows(), map.cols());
      for (Index i = 0; i < map.rows(); ++i) {
        EXPECT_NEAR(map.row(i).sum(), 1, 1e-12);
        EXPECT_EQ(map.row(i).tail(map.cols() - i - 1).cwiseAbs().sum(), 0) << "the future has no weight";
      }
    }
  });
  Matrix<double> y(7, 9);
  attention.forward(random_matrix<double>(7, 12, 2), Sequences::of_lengths({4, 3}), y, workspace);
  EXPECT_EQ(paths, (std::vector<std::string>{"qkv", "attention_map.0", "attention_map.1", "proj_out", ""}));
}

TEST(TinyAttention, RefusesOtherShapesBeforeWriting) {
  const auto attention = random_attention<float>(12, 5, 9, false);
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(4, 9, 7), narrow = Matrix<float>::Constant(4, 8, 7);
  EXPECT_THROW(attention.forward(Matrix<float>::Zero(4, 11), Sequences::single(4), y, workspace), ShapeError);
  EXPECT_THROW(attention.forward(Matrix<float>::Zero(4, 12), Sequences::single(5), y, workspace), ShapeError);
  EXPECT_THROW(attention.forward(Matrix<float>::Zero(5, 12), Sequences::single(5), y, workspace), ShapeError);
  EXPECT_THROW(attention.forward(Matrix<float>::Zero(4, 12), Sequences::single(4), narrow, workspace), ShapeError);
  EXPECT_TRUE((y.array() == 7).all());
  EXPECT_TRUE((narrow.array() == 7).all());
}

TEST(TinyAttention, RefusesToBeBuiltWithoutWidth) {
  EXPECT_THROW(TinyAttention<float>({.channels = 4, .width = 0, .out = 4}), ArgumentError);
  EXPECT_THROW(TinyAttention<float>({.channels = 4, .width = -2, .out = 4}), ArgumentError);
  EXPECT_THROW(TinyAttention<float>({.channels = 4, .width = 2, .out = 0}), ArgumentError);
}

}  // namespace
}  // namespace gated
