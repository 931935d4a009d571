#include "gated/layers/external_attention.hpp"

#include <cmath>

#include "gated/layers/external_attention_head.hpp"
#include "gated/layers/feed_forward.hpp"
#include "gated/layers/mixer_block.hpp"
#include "literal_attention.hpp"
#include "tests/promises.hpp"

// Tests of ExternalAttention, BatchNorm, and EANet's head, which combines these two layers.

namespace gated::external_attention_test {
namespace {

using test::message_of;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::wide;

/// Configurations with one or several heads, with or without biases, with hidden = channels or larger, and with more memories
/// than SIMD lanes.
std::vector<ExternalAttentionConfig> configs() {
  return {{.channels = 6, .memories = 5, .memory_bias = false, .out_bias = false},
          {.channels = 6, .heads = 3, .memories = 7},
          {.channels = 5, .heads = 2, .hidden = 8, .memories = 37, .out_bias = false},
          eamlp_attention(4, 2)};
}

/// External attention by its formula, element by element. Tokens whose `mask` is 0 are skipped.
template <class T>
Matrix<double> literal_attention(const ExternalAttention<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                                 const std::vector<std::uint8_t>& mask = {}) {
  const auto& c = layer.config;
  const Index width = c.head_width(), memories = c.memories;
  const auto number = [](const auto& m, auto... at) { return static_cast<double>(m(at...)); };
  Matrix<double> u = x * wide(layer.query.weight).transpose(), z(u.rows(), u.cols());
  for (Index i = 0; i < u.rows(); ++i) {
    for (Index j = 0; j < u.cols(); ++j) {
      u(i, j) += number(layer.query.bias, j);
    }
  }
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index n = sequences.length(b), offset = sequences.offset(b);
    const auto counts = [&](Index i) { return mask.empty() || mask[static_cast<std::size_t>(offset + i)] != 0; };
    for (Index head = 0; head < c.heads; ++head) {
      Matrix<double> shares = Matrix<double>::Zero(n, memories);
      for (Index k = 0; k < memories; ++k) {
        double sum = 0;
        for (Index i = 0; i < n; ++i) {
          double score = c.memory_bias ? number(layer.key_bias, k) : 0;
          for (Index w = 0; w < width; ++w) {
            score += number(layer.key, k, w) * u(offset + i, head * width + w);
          }
          shares(i, k) = counts(i) ? std::exp(score) : 0;
          sum += shares(i, k);
        }
        if (sum > 0) {
          shares.col(k) /= sum;
        }
      }
      for (Index i = 0; i < n; ++i) {
        const double sum = 1e-9 + shares.row(i).sum();
        for (Index w = 0; w < width; ++w) {
          double value = c.memory_bias ? number(layer.value_bias, w) : 0;
          for (Index k = 0; k < memories; ++k) {
            value += shares(i, k) / sum * number(layer.value, w, k);
          }
          z(offset + i, head * width + w) = value;
        }
      }
    }
  }
  Matrix<double> y = z * wide(layer.proj_out.weight).transpose();
  for (Index i = 0; c.out_bias && i < y.rows(); ++i) {
    y.row(i) += wide(Matrix<T>(layer.proj_out.bias.transpose()));
  }
  return y;
}

template <class T>
void expect_formula() {
  const auto sequences = Sequences::of_lengths({9, 0, 40, 1});
  std::vector<std::uint8_t> mask(50, 1);
  for (const std::size_t hidden : {2U, 3U, 15U, 49U}) {  // token 49 is a sequence by itself
    mask[hidden] = 0;
  }
  for (const ExternalAttentionConfig& config : configs()) {
    const auto layer = random_layer<ExternalAttention<T>>(config);
    const auto x = random_matrix<T>(50, config.channels, 2);
    Workspace<T> workspace;
    EXPECT_TRUE(near(layer.forward(x, sequences, workspace), literal_attention(layer, wide(x), sequences))) << config.heads;
    EXPECT_TRUE(near(layer.forward(x, sequences, workspace, mask), literal_attention(layer, wide(x), sequences, mask)))
        << config.heads << ", masked";
  }
}

TEST(ExternalAttention, EqualsItsFormula) {
  expect_formula<float>();
  expect_formula<double>();
}

TEST(ExternalAttention, KeepsItsPromises) {
  for (const ExternalAttentionConfig& config : configs()) {
    test::expect_promises<ExternalAttention>(config);
  }
  test::expect_promises<ExternalAttention>({.channels = 48, .heads = 2, .memories = 64},
                                           {.lengths = {300, 17}, .trains = false});
}

template <class T>
using Block = MixerBlock<ExternalAttention<T>, FeedForward<T>>;

TEST(ExternalAttention, KeepsItsPromisesInABlock) {
  test::expect_promises<Block>(
      {.channels = 4, .token_mixer = {.heads = 8, .hidden = 16, .memories = 6}, .channel_mixer = {.hidden = 7}});
}

TEST(BatchNorm, KeepsItsPromises) {
  test::expect_promises([](auto zero) { return BatchNorm<decltype(zero)>(7); });
}

TEST(BatchNorm, NormalizesWithItsStoredStatistics) {
  BatchNorm<double> norm(2, 0.25);
  norm.weight << 3, 1;
  norm.bias << 1, -1;
  norm.mean << 2, 0;
  norm.variance << 0.75, 3.75;
  Matrix<double> x(2, 2), expected(2, 2);
  x << 2, 4, 5, -2;
  expected << 1, 1, 10, -2;
  Workspace<double> workspace;
  EXPECT_TRUE(near(norm.forward(x, workspace), expected));
}

TEST(ExternalAttentionHead, KeepsItsPromises) { test::expect_promises<ExternalAttentionHead>({.channels = 6, .memories = 9}); }

TEST(ExternalAttentionHead, EqualsItsFormula) {
  const auto layer = random_layer<ExternalAttentionHead<double>>({.channels = 6, .memories = 9});
  const auto x = random_matrix<double>(24, 6, 2);
  const auto sequences = Sequences::uniform(2, 12);
  Workspace<double> workspace;
  const Matrix<double> z = literal_attention(layer.attention, x, sequences);
  Matrix<double> y(24, 6);
  for (Index i = 0; i < 24; ++i) {
    for (Index c = 0; c < 6; ++c) {
      const double normed =
          (z(i, c) - layer.norm.mean[c]) / std::sqrt(layer.norm.variance[c] + 1e-5) * layer.norm.weight[c] + layer.norm.bias[c];
      y(i, c) = std::max(x(i, c) + normed, 0.0);
    }
  }
  EXPECT_TRUE(near(layer.forward(x, sequences, workspace), y));
}

TEST(ExternalAttention, HasAsManyParametersAsTheOriginals) {
  const Index d = 384, e = d / 12;  // EAMLP has 12 heads
  EXPECT_EQ(parameter_count(ExternalAttention<float>(eamlp_attention(d, 12))),
            4 * d * d + 4 * d + 64 * e + 64 + 64 * e + e + 4 * d * d + d);
  EXPECT_EQ(parameter_count(ExternalAttentionHead<float>({.channels = 512})), 2 * 512 * 512 + 512 + 128 * 512 + 2 * 512);
}

TEST(ExternalAttention, InitializesLikeTheOriginal) {
  Random random(1);
  const auto deviation = [](const Matrix<double>& m) { return std::sqrt(m.squaredNorm() / static_cast<double>(m.size())); };
  const ExternalAttention<double> layer(eamlp_attention(64, 2), random);
  EXPECT_NEAR(deviation(layer.query.weight), 0.02, 1e-3);
  EXPECT_NEAR(deviation(layer.key), 0.02, 1e-3);
  EXPECT_EQ(layer.value, layer.key.transpose());
  EXPECT_EQ(layer.query.bias.cwiseAbs().maxCoeff(), 0);
  const ExternalAttentionHead<double> head({.channels = 64}, random);
  EXPECT_NEAR(deviation(head.attention.query.weight), std::sqrt(2.0 / 64), 1e-2);
  EXPECT_EQ(head.attention.value, head.attention.key.transpose());
}

TEST(ExternalAttention, RefusesInvalidConfigurationsAndStreaming) {
  EXPECT_EQ(message_of<ArgumentError>([] { ExternalAttention<float>({.channels = 6, .heads = 4}); }),
            "ExternalAttention: heads = 4 does not divide hidden = 6.");
  EXPECT_EQ(
      message_of<ArgumentError>([] { ExternalAttention<float>({.channels = 6, .memories = 0}); }),
      "ExternalAttention: channels = 6, heads = 1 and memories = 0 must be positive, and hidden = 0 must not be negative.");
  const ExternalAttention<float> layer({.channels = 6});
  EXPECT_EQ(
      message_of<ArgumentError>([&] { layer.start(); }),
      "ExternalAttention::start: an output depends on later tokens, so the layer cannot be streamed. Its softmax runs over "
      "all tokens of a sequence.");
}

}  // namespace
}  // namespace gated::external_attention_test
