#include "gated/layers/tiny_attention.hpp"

#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::tiny_attention_test {
namespace {

using test::message_of;
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
Matrix<T> attend(const TinyAttention<T>& attention, const Matrix<T>& x, const Sequences& sequences) {
  Workspace<T> workspace;
  return attention.forward(x, sequences, workspace);
}

TEST(TinyAttention, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(text(causal ? "causal" : "", bias ? ", with biases" : ""));
      test::expect_promises<TinyAttention>(
          TinyAttentionConfig{.channels = 6, .width = 5, .out = bias ? 6 : 9, .causal = causal, .bias = bias},
          {.causal = causal});
    }
  }
}

TEST(TinyAttention, KeepsItsPromisesWithThreadedProducts) {
  for (const bool causal : {false, true}) {
    test::expect_promises<TinyAttention>(TinyAttentionConfig{.channels = 24, .width = 16, .out = 40, .causal = causal},
                                         {.lengths = {300, 3, 170}, .causal = causal, .trains = false});
  }
}

template <class T>
class TinyAttentionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TinyAttentionOf, Scalars, );

TYPED_TEST(TinyAttentionOf, EqualsHandComputedAttention) {
  using T = TypeParam;
  TinyAttention<T> attention({.channels = 1, .width = 1, .out = 1});
  attention.qkv.weight << 1, 1, 10;  // q = k = x, v = 10 x
  attention.proj_out.weight << 2;
  attention.proj_out.bias << 5;
  Matrix<T> x(2, 1);
  x << 0, 1;  // attention weights are 1 : 1 for token 0, and 1 : e for token 1
  const double e = std::exp(1.0);
  Matrix<double> expected(2, 1);
  expected << 5 + 2 * 5, 5 + 2 * 10 * e / (1 + e);
  EXPECT_TRUE(near(attend(attention, x, Sequences::single(2)), expected));
  attention.config.causal = true;
  expected(0, 0) = 5;
  EXPECT_TRUE(near(attend(attention, x, Sequences::single(2)), expected));
}

TYPED_TEST(TinyAttentionOf, EqualsItsFormula) {
  using T = TypeParam;
  for (const bool causal : {false, true}) {
    for (const bool bias : {false, true}) {
      const auto attention = random_attention<T>(12, 5, 9, causal, bias);
      const auto sequences = Sequences::of_lengths({33, 1, 0, 300});  // 300 tokens span two blocks of scores
      const auto x = random_matrix<T>(sequences.total(), 12, 2);
      EXPECT_TRUE(near(attend(attention, x, sequences), literal::attention(attention, wide(x), sequences))) << causal << bias;
    }
  }
}

TYPED_TEST(TinyAttentionOf, HandlesHugeScores) {
  using T = TypeParam;
  const auto attention = random_attention<T>(12, 5, 9, false);
  EXPECT_TRUE(attend(attention, random_matrix<T>(20, 12, 2, 100.0), Sequences::single(20)).allFinite());
}

TEST(TinyAttention, DefaultsToNoBiasOnQueryKeyAndValue) {
  const TinyAttention<float> attention({.channels = 512, .width = 64, .out = 1536});
  EXPECT_EQ(parameter_count(attention), 512 * 3 * 64 + 64 * 1536 + 1536);
  const TinyAttention<float> biased({.channels = 512, .width = 64, .out = 1536, .bias = true});
  EXPECT_EQ(parameter_count(biased), parameter_count(attention) + 3 * 64);
}

TEST(TinyAttention, HooksSeeItsAttentionMaps) {
  const auto attention = random_attention<double>(12, 5, 9, true);
  Workspace<double> workspace;
  std::vector<std::string> paths;
  workspace.set_hook([&](const std::string& path, ConstView<double> map) {
    paths.push_back(path);
    if (path.starts_with("weights")) {
      EXPECT_EQ(map.rows(), map.cols());
      for (Index i = 0; i < map.rows(); ++i) {
        EXPECT_NEAR(map.row(i).sum(), 1, 1e-12);
        EXPECT_EQ(map.row(i).tail(map.cols() - i - 1).cwiseAbs().sum(), 0) << "later tokens must have no weight";
      }
    }
  });
  attention.forward(random_matrix<double>(7, 12, 2), Sequences::of_lengths({4, 3}), workspace);
  EXPECT_EQ(paths, (std::vector<std::string>{"qkv", "weights.0", "weights.1", "proj_out", ""}));
}

TEST(TinyAttention, NeedsACapacityAndCausalityToStream) {
  const std::string endless = message_of<ArgumentError>([] { random_attention<float>(12, 5, 9, true).start(); });
  EXPECT_NE(endless.find("TinyAttention::start: "), std::string::npos) << endless;
  EXPECT_NE(endless.find("start(capacity)"), std::string::npos) << endless;
  const std::string both_ways = message_of<ArgumentError>([] { random_attention<float>(12, 5, 9, false).start(4); });
  EXPECT_NE(both_ways.find("Build it with causal = true"), std::string::npos) << both_ways;
  EXPECT_EQ(random_attention<float>(12, 5, 9, true).start(20).bytes(), sizeof(float) * 20 * (5 + 5));
}

TEST(TinyAttention, RefusesZeroWidth) {
  EXPECT_THROW(TinyAttention<float>({.channels = 4, .width = 0, .out = 4}), ArgumentError);
  EXPECT_THROW(TinyAttention<float>({.channels = 4, .width = -2, .out = 4}), ArgumentError);
  EXPECT_THROW(TinyAttention<float>({.channels = 4, .width = 2, .out = 0}), ArgumentError);
}

}  // namespace
}  // namespace gated::tiny_attention_test
