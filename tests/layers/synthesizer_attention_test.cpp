#include "gated/layers/synthesizer_attention.hpp"

#include <cmath>

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/mixer_block.hpp"
#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::synthesizer_attention_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::wide;

/// Configurations with every form and mixture. The heads' total width, 8, differs from the 6 channels.
std::vector<SynthesizerAttentionConfig> all_forms(bool causal, Index length = 12) {
  std::vector<SynthesizerAttentionConfig> all;
  for (const auto& [form, name] : names_of(SynthesizerForm{})) {
    for (const auto& [mixture, other_name] : names_of(SynthesizerMixture{})) {
      all.push_back({.channels = 6,
                     .heads = 2,
                     .head_width = 4,
                     .max_length = length,
                     .form = form,
                     .mixture = mixture,
                     .rank = 3,
                     .factors = {length / 4, 4},
                     .causal = causal});
    }
  }
  return all;
}

/// Synthesizer attention by its formula, one score at a time.
template <class T>
Matrix<double> literal_attention(const SynthesizerAttention<T>& layer, const Matrix<double>& x, const Sequences& sequences) {
  const auto& c = layer.config;
  const Index a = c.width(), length = c.max_length;
  const Matrix<double> v = x * wide(layer.value.weight).transpose();
  const Matrix<double> q = layer.query ? Matrix<double>(x * wide(layer.query->weight).transpose()) : Matrix<double>();
  const Matrix<double> k = layer.key ? Matrix<double>(x * wide(layer.key->weight).transpose()) : Matrix<double>();
  const double alpha = layer.share.size() > 0 ? 1 / (1 + std::exp(-static_cast<double>(layer.share[0]))) : 0;
  const auto number = [](const auto& m, Index i, Index j) { return static_cast<double>(m(i, j)); };
  Matrix<double> mixed(x.rows(), c.heads * a);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index n = sequences.length(b), offset = sequences.offset(b);
    for (Index g = 0; g < c.heads; ++g) {
      for (Index i = 0; i < n; ++i) {
        const Index seen = c.causal ? i + 1 : n;
        std::vector<double> scores;
        for (Index j = 0; j < seen; ++j) {
          const auto hidden = [&](Index d) { return std::max(q(offset + i, g * a + d), 0.0); };
          double own = 0, first = 0, second = 0;
          switch (c.form) {
            case SynthesizerForm::random:
              own = number(layer.random, g * length + i, j);
              break;
            case SynthesizerForm::factorized_random:
              for (Index d = 0; d < c.rank; ++d) {
                own += number(layer.left, g * length + i, d) * number(layer.right, g * length + j, d);
              }
              break;
            case SynthesizerForm::dense:
              for (Index d = 0; d < a; ++d) {
                own += hidden(d) * number(layer.dense, j, d);
              }
              break;
            case SynthesizerForm::factorized_dense:
              for (Index d = 0; d < a; ++d) {
                first += hidden(d) * number(layer.outer, j / c.factors[1], d);
                second += hidden(d) * number(layer.inner, j % c.factors[1], d);
              }
              own = first * second;
              break;
          }
          double dot = 0;
          for (Index d = 0; d < a && layer.key; ++d) {
            dot += q(offset + i, g * a + d) * k(offset + j, g * a + d);
          }
          scores.push_back(c.mixture == SynthesizerMixture::learned ? alpha * own + (1 - alpha) * dot : own + dot);
        }
        const double largest = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& score : scores) {
          sum += score = std::exp(score - largest);
        }
        for (Index d = 0; d < a; ++d) {
          double& to = mixed(offset + i, g * a + d) = 0;
          for (Index j = 0; j < seen; ++j) {
            to += scores[static_cast<std::size_t>(j)] / sum * v(offset + j, g * a + d);
          }
        }
      }
    }
  }
  return mixed * wide(layer.proj_out.weight).transpose();
}

std::string describe(const SynthesizerAttentionConfig& c) {
  return text(name_of(c.form), ", ", name_of(c.mixture), c.causal ? ", causal" : "");
}

template <class T>
void expect_formula() {
  for (const bool causal : {false, true}) {
    for (const Index length : {12, 272}) {  // 272 queries span two blocks of scores
      for (const auto& config : all_forms(causal, length)) {
        SynthesizerAttention<T> layer(config);
        test::shake(layer, 1);
        const auto sequences = Sequences::of_lengths({length, 0, length - 5, 1});
        const auto x = random_matrix<T>(sequences.total(), 6, 2);
        Workspace<T> workspace;
        EXPECT_TRUE(near(layer.forward(x, sequences, workspace), literal_attention(layer, wide(x), sequences)))
            << describe(config) << ", " << length;
      }
    }
  }
}

TEST(SynthesizerAttention, EqualsItsFormulaInEveryForm) {
  expect_formula<float>();
  expect_formula<double>();
}

TEST(SynthesizerAttention, KeepsItsPromisesInEveryForm) {
  for (const bool causal : {false, true}) {
    for (const auto& config : all_forms(causal)) {
      test::expect_promises<SynthesizerAttention>(config, {.causal = causal});
    }
  }
}

template <class T>
using Block = MixerBlock<SynthesizerAttention<T>, FeedForward<T>>;

TEST(SynthesizerAttention, KeepsItsPromisesInABlock) {
  for (const bool causal : {false, true}) {
    test::expect_promises<Block>({.channels = 6,
                                  .token_mixer = {.heads = 2,
                                                  .max_length = 10,
                                                  .form = SynthesizerForm::dense,
                                                  .mixture = SynthesizerMixture::learned,
                                                  .causal = causal},
                                  .channel_mixer = {.hidden = 8}},
                                 {.causal = causal});
  }
}

TEST(SynthesizerAttention, HasThePapersParameterCounts) {
  SynthesizerAttentionConfig c{
      .channels = 512, .heads = 8, .head_width = 128, .max_length = 512, .rank = 16, .factors = {32, 16}};
  const Index d = 512, all = 8 * 128, l = 512;
  const auto expect = [&](SynthesizerForm form, SynthesizerMixture mixture, Index count) {
    c.form = form;
    c.mixture = mixture;
    EXPECT_EQ(parameter_count(SynthesizerAttention<float>(c)), count);
  };
  expect(SynthesizerForm::random, SynthesizerMixture::none, 2 * d * all + 8 * l * l);
  expect(SynthesizerForm::factorized_random, SynthesizerMixture::none, 2 * d * all + 2 * 8 * l * 16);
  expect(SynthesizerForm::dense, SynthesizerMixture::none, 3 * d * all + 128 * l);
  expect(SynthesizerForm::factorized_dense, SynthesizerMixture::none, 3 * d * all + 128 * (32 + 16));
  expect(SynthesizerForm::random, SynthesizerMixture::learned, 4 * d * all + 8 * l * l + 1);
  expect(SynthesizerForm::dense, SynthesizerMixture::sum, 4 * d * all + 128 * l);
}

TEST(SynthesizerAttention, InitializesLikeTheAuthorsCode) {
  Random random(1);
  const SynthesizerAttention<double> layer(
      {.channels = 64, .heads = 4, .max_length = 100, .mixture = SynthesizerMixture::learned}, random);
  const auto deviation = [](const Matrix<double>& m) { return std::sqrt(m.squaredNorm() / static_cast<double>(m.size())); };
  EXPECT_NEAR(deviation(layer.query->weight), 1 / std::sqrt(64.0 * 16), 2e-3);
  EXPECT_NEAR(deviation(layer.key->weight), 1 / 8.0, 5e-3);
  EXPECT_NEAR(deviation(layer.value.weight), 1 / 8.0, 5e-3);
  EXPECT_NEAR(deviation(layer.proj_out.weight), 1 / 8.0, 5e-3);
  EXPECT_LE(layer.random.cwiseAbs().maxCoeff(), std::sqrt(6.0 / 200));
  EXPECT_NEAR(deviation(layer.random), std::sqrt(6.0 / 200 / 3), 2e-3);
  EXPECT_EQ(layer.share[0], 0);
}

TEST(SynthesizerAttention, RefusesMismatchedSizes) {
  const auto refusal = [](const SynthesizerAttentionConfig& c) {
    return message_of<ArgumentError>([&] { SynthesizerAttention<float>{c}; });
  };
  EXPECT_NE(refusal({.channels = 6, .heads = 4, .max_length = 3}).find("Set head_width"), std::string::npos);
  EXPECT_NE(refusal({.channels = 6, .heads = 2}).find("max_length = 0"), std::string::npos);
  EXPECT_NE(refusal({.channels = 6, .max_length = 9, .form = SynthesizerForm::factorized_dense, .factors = {2, 4}})
                .find("with a product of max_length = 9"),
            std::string::npos);
  EXPECT_NE(refusal({.channels = 6, .max_length = 9, .form = SynthesizerForm::factorized_random, .rank = 0}).find("rank = 0"),
            std::string::npos);
  const SynthesizerAttention<float> layer({.channels = 6, .max_length = 9});
  Workspace<float> workspace;
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(10, 6), Sequences::single(10), workspace); }),
            "SynthesizerAttention::forward: sequence 0 of 1 has 10 tokens, expected 9 at most. Build it with a larger "
            "max_length.");
  EXPECT_NE(message_of<ArgumentError>([&] { layer.start(); }).find("causal = true"), std::string::npos);
}

}  // namespace
}  // namespace gated::synthesizer_attention_test
