#include "gated/layers/transformer_block.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::transformer_block_test {
namespace {

using test::is_untouched;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::refuses;
using test::run;
using test::untouched;
using test::wide;

constexpr Index channels = 12, heads = 3, width = channels / heads, chunk = 4;

/// Softmax attention with every option: grouped-query attention, windows, QK norm, gates, no biases.
std::vector<SelfAttentionConfig> optional_parts(bool causal) {
  std::vector<SelfAttentionConfig> all;
  for (const Index window : {Index{0}, Index{1}, Index{3}, Index{100}}) {
    all.push_back({.heads = 4, .key_value_heads = 2, .head_width = 6, .causal = causal, .window = window, .bias = false});
  }
  all[1].rotary = all[2].rotary = Rotary::half;
  all[1].gate = all[3].gate = AttentionGate::per_head;
  all[2].gate = AttentionGate::per_channel;
  all[2].query_key_norm = NormForm::rms_norm, all[2].query_key_norm_eps = 0.1;
  all[2].gate_bias = all[3].out_bias = false;
  all[3].key_value_heads = 1, all[3].head_width = 2;
  return all;
}

std::vector<TransformerBlockConfig> configs() {
  const TransformerBlockConfig softmax{.channels = channels, .token_mixer = {.heads = heads}, .channel_mixer = {.hidden = 20}};
  std::vector<TransformerBlockConfig> all(5, softmax);
  all[1].token_mixer.heads = 1, all[1].norm_eps = 1e-2;
  all[1].channel_mixer = {.activation = Activation::silu};
  for (std::size_t i = 2; i < all.size(); ++i) {
    all[i].token_mixer.form = AttentionForm::mixed_chunk;
    all[i].token_mixer.chunk = chunk;
  }
  all[3].token_mixer.reduction = LinearReduction::mean;
  all[4].token_mixer.reduction = LinearReduction::own_chunk;
  for (std::size_t i = 0; i < 4; ++i) {  // all but own_chunk, which cannot be causal
    all.push_back(all[i]);
    all.back().token_mixer.causal = true;
  }
  for (const bool causal : {false, true}) {
    all.push_back(softmax);
    all.back().token_mixer.causal = causal;
    all.back().token_mixer.rotary = causal ? Rotary::half : Rotary::interleaved;
    all.back().token_mixer.rotary_dimensions = causal ? 0 : 2;
    all.back().token_mixer.rotary_base = 100;
  }
  for (const RelativeBiasForm form : {RelativeBiasForm::t5, RelativeBiasForm::toeplitz}) {
    for (const bool causal : {false, true}) {
      all.push_back(softmax);
      all.back().token_mixer.causal = causal;
      all.back().token_mixer.rotary = causal ? Rotary::half : Rotary::none;
      all.back().token_mixer.relative_bias = form;
      all.back().token_mixer.max_length = form == RelativeBiasForm::toeplitz ? 11 : 0;
    }
  }
  for (const bool causal : {false, true}) {
    all.push_back(softmax);
    all.back().token_mixer.causal = causal;
    all.back().token_mixer.window = 3;
    all.back().token_mixer.relative_bias = RelativeBiasForm::t5;
  }
  for (const bool causal : {false, true}) {
    for (const SelfAttentionConfig& attention : optional_parts(causal)) {
      all.push_back(softmax);
      all.back().token_mixer = attention;
      all.back().token_norm = causal ? NormForm::rms_norm : NormForm::layer_norm_no_bias;
    }
  }
  return all;
}

/// True if a state can rewind after eleven tokens, because it still stores all of them.
bool can_rewind(const SelfAttentionConfig& attention) {
  return attention.form == AttentionForm::softmax && (attention.window == 0 || attention.window > 11);
}

TEST(TransformerBlock, KeepsItsPromises) {
  for (const TransformerBlockConfig& config : configs()) {
    const bool rewinds = can_rewind(config.token_mixer), causal = config.token_mixer.causal;
    test::expect_promises<TransformerBlock>(config, {.lengths = {7, 0, 11, 1}, .causal = causal, .rewinds = rewinds});
  }
}

TEST(SelfAttention, AWindowNeedsNoCapacityWithAT5Bias) {
  const auto layer = random_layer<SelfAttention<float>>(
      {.channels = 8, .heads = 2, .causal = true, .window = 4, .relative_bias = RelativeBiasForm::t5});
  const Matrix<float> x = random_matrix<float>(60, 8, 1);
  Matrix<float> y(60, 8);
  Workspace<float> workspace;
  auto state = layer.start();
  for (Index t = 0, rows = 1; t < 60; t += rows, rows = std::min<Index>(rows % 5 + 1, 60 - t)) {
    layer.extend(x.middleRows(t, rows), state, y.middleRows(t, rows), workspace);
  }
  EXPECT_TRUE(test::same_bits(y, layer.forward(x)));
}

TEST(SelfAttention, KeepsItsPromises) {
  for (const TransformerBlockConfig& config : configs()) {
    SelfAttentionConfig attention = config.token_mixer;
    attention.channels = channels;
    const bool rewinds = can_rewind(attention);
    test::expect_promises<SelfAttention>(attention, {.causal = attention.causal, .rewinds = rewinds});
  }
}

TEST(GluTransformerBlock, KeepsItsPromises) {
  for (const bool causal : {false, true}) {
    test::expect_promises<GluTransformerBlock>(
        {.channels = channels, .token_mixer = {.heads = heads, .causal = causal}, .channel_mixer = {.hidden = 9}},
        {.causal = causal});
  }
}

TEST(GluTransformerBlock, DiffersFromTransformerBlockOnlyInTheFeedForward) {
  const auto glu = random_layer<GluTransformerBlock<double>>(
      {.channels = channels, .token_mixer = {.heads = heads}, .channel_mixer = {.hidden = 9, .bias = false}});
  TransformerBlock<double> plain(configs()[0]);
  plain.tokens = glu.tokens;
  plain.channels.mixer.proj_out.weight.setZero();  // the feed-forward adds 0, so the block returns h
  plain.channels.mixer.proj_in.weight.setZero();
  const auto x = random_matrix<double>(13, channels, 2);
  const auto sequences = Sequences::of_lengths({7, 6});
  const Matrix<double> h = run(plain, x, sequences);
  Workspace<double> workspace;
  EXPECT_TRUE(near(run(glu, x, sequences),
                   Matrix<double>(h + glu.channels.mixer.forward(glu.channels.norm.forward(h, workspace), workspace))));
}

TEST(TransformerBlock, ReportsWhetherItIsCausal) {
  EXPECT_FALSE(TransformerBlock<float>(configs()[0]).is_causal());
  EXPECT_TRUE(TransformerBlock<float>(configs()[5]).is_causal());
}

TEST(TransformerBlock, KeepsItsPromisesWithThreadedProducts) {
  for (const AttentionForm form : {AttentionForm::softmax, AttentionForm::mixed_chunk}) {
    const TransformerBlockConfig config{.channels = 24,
                                        .token_mixer = {.heads = 2, .form = form, .chunk = 260, .causal = true}};
    const bool rewinds = form == AttentionForm::softmax;
    test::expect_promises<TransformerBlock>(config,
                                            {.lengths = {300, 3, 170}, .causal = true, .rewinds = rewinds, .trains = false});
  }
}

/// The relative bias of a head for query i and key j, looked up by T5 bucket or by offset.
template <class T>
double literal_bias(const SelfAttention<T>& attention, Index head, Index i, Index j) {
  const SelfAttentionConfig& c = attention.config;
  const auto& table = attention.relative_bias.weight;
  switch (c.relative_bias) {
    case RelativeBiasForm::t5:
      return static_cast<double>(table[head * 32 + t5_bucket(i - j, {.causal = c.causal})]);
    case RelativeBiasForm::toeplitz:
      return static_cast<double>(table[head * (2 * c.max_length - 1) + c.max_length - 1 + j - i]);
    case RelativeBiasForm::none:
      break;
  }
  return 0;
}

/// A TransformerBlock by its formula, one score at a time.
template <class T>
Matrix<double> literal_block(const TransformerBlock<T>& block, const Matrix<double>& x, const Sequences& sequences,
                             const literal::Visible& mask = {}) {
  const SelfAttention<T>& attention = block.tokens.mixer;
  const SelfAttentionConfig& c = attention.config;
  const Index w = c.width(), shared = c.key_heads(), k_first = c.heads * w, v_first = k_first + shared * w;
  const Matrix<double> normed = literal::norm(block.tokens.norm, x);
  Matrix<double> qkv = literal::linear(attention.qkv, normed);
  for (Index first = 0; first < v_first; first += w) {  // each head of q, then of k
    if (attention.query_norm) {
      qkv.middleCols(first, w) =
          literal::norm(first < k_first ? *attention.query_norm : *attention.key_norm, qkv.middleCols(first, w));
    }
    if (c.rotary == Rotary::none) {
      continue;
    }
    qkv.middleCols(first, w) = literal::rotate(qkv.middleCols(first, w), sequences, c.rotary,
                                               c.rotary_dimensions > 0 ? c.rotary_dimensions : w, c.rotary_base);
  }
  Matrix<double> attended = Matrix<double>::Zero(x.rows(), k_first);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), n = sequences.length(b), chunks = (n + c.chunk - 1) / c.chunk;
    for (Index i = 0; i < n; ++i) {
      for (Index head = 0; head < c.heads; ++head) {
        const Index other_head = head / (c.heads / shared), k_at = k_first + (other_head - head) * w, v_at = k_at + shared * w;
        Vector<double> weights = Vector<double>::Zero(n);
        for (Index j = 0; j < n; ++j) {
          if (literal::hidden(mask, offset + j)) {
            continue;
          }
          double local = 0, global = 0;
          for (Index s = head * w; s < (head + 1) * w; ++s) {
            const double q = qkv(offset + i, s), k = qkv(offset + j, k_at + s);
            local += q * k;
            if (c.form == AttentionForm::mixed_chunk) {
              global += (q * static_cast<double>(attention.global_qk.weight(0, s)) +
                         static_cast<double>(attention.global_qk.bias(0, s))) *
                        (k * static_cast<double>(attention.global_qk.weight(1, s)) +
                         static_cast<double>(attention.global_qk.bias(1, s)));
            }
          }
          if (c.form == AttentionForm::softmax) {
            local = local / std::sqrt(static_cast<double>(w)) + literal_bias(attention, head, i, j);
            const bool far = c.window > 0 && (c.causal ? j <= i - c.window : std::abs(i - j) > c.window / 2);
            weights(j) = far || (c.causal && j > i) ? 0.0 : std::exp(local);
            continue;
          }
          const Index own = i / c.chunk, other = j / c.chunk;
          const auto size = static_cast<double>(c.chunk);
          if (own == other && (!c.causal || j <= i)) {
            weights(j) += std::pow(std::max(local / size, 0.0), 2);
          }
          const bool mean = c.reduction == LinearReduction::mean;
          if (c.causal) {
            weights(j) += other < own ? global / (mean ? static_cast<double>(own) * size : size) : 0;
          } else if (c.reduction != LinearReduction::own_chunk || own == other) {
            weights(j) += global / (mean ? static_cast<double>(chunks) * size : static_cast<double>(n));
          }
        }
        if (c.form == AttentionForm::softmax) {
          weights /= std::max(weights.sum(), 1e-300);  // the sum is 0 if all tokens of a window are masked
        }
        for (Index j = 0; j < n; ++j) {
          for (Index d = head * w; d < (head + 1) * w; ++d) {
            attended(offset + i, d) += weights(j) * qkv(offset + j, v_at + d);
          }
        }
      }
    }
  }
  if (attention.gate) {
    const Matrix<double> gates = literal::activate(Activation::sigmoid, literal::linear(*attention.gate, normed));
    for (Index d = 0; d < attended.cols(); ++d) {
      attended.col(d).array() *= gates.col(c.gate == AttentionGate::per_head ? d / w : d).array();
    }
  }
  const Matrix<double> h = x + literal::linear(attention.proj_out, attended);
  const FeedForward<T>& feed_forward = block.channels.mixer;
  const Matrix<double> hidden = literal::activate(
      feed_forward.config.activation, literal::linear(feed_forward.proj_in, literal::layer_norm(block.channels.norm, h)));
  return h + literal::linear(feed_forward.proj_out, hidden);
}

template <class T>
class TransformerBlockOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TransformerBlockOf, Scalars, );

TYPED_TEST(TransformerBlockOf, EqualsItsFormulaInEveryForm) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({7, 1, 0, 11});
  const auto x = random_matrix<T>(19, channels, 2);
  const auto mask = test::random_mask(sequences, 3);
  for (const TransformerBlockConfig& config : configs()) {
    SCOPED_TRACE(test::settings_of(config));
    const auto block = random_layer<TransformerBlock<T>>(config);
    EXPECT_TRUE(near(run(block, x, sequences), literal_block(block, wide(x), sequences)));
    EXPECT_TRUE(near(run(block, x, sequences, mask), literal_block(block, wide(x), sequences, mask))) << "masked";
  }
}

TYPED_TEST(TransformerBlockOf, HandlesFullyMaskedSequencesExceptWithSoftmax) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({4, 6});
  const auto x = random_matrix<T>(10, channels, 2);
  const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0, 0, 0, 0, 0, 0};
  for (const TransformerBlockConfig& config : configs()) {
    SCOPED_TRACE(test::settings_of(config));
    const auto block = random_layer<TransformerBlock<T>>(config);
    if (config.token_mixer.form == AttentionForm::softmax) {
      Matrix<T> y = untouched<T>(10, channels);
      Workspace<T> workspace;
      EXPECT_TRUE(refuses<ShapeError>([&] { block.forward(x, sequences, y, workspace, mask); },
                                      "MixerBlock::forward: the mask leaves no token of sequence 1"));
      EXPECT_TRUE(is_untouched(y));
      continue;
    }
    const Matrix<T> y = run(block, x, sequences, mask);
    EXPECT_TRUE(near(y, literal_block(block, wide(x), sequences, mask)));
    auto without = block;  // the attention's output is only the bias of its last projection
    without.tokens.mixer.proj_out.weight.setZero();
    EXPECT_TRUE(near<T>(y.bottomRows(6), literal_block(without, wide(x), sequences).bottomRows(6)));
  }
}

TEST(TransformerBlock, HasARelativeBiasPerHead) {
  const auto biases = [](RelativeBiasForm form) {
    const SelfAttentionConfig c{.channels = channels, .heads = heads, .relative_bias = form, .max_length = 9};
    return SelfAttention<float>(c).relative_bias.weight.size();
  };
  EXPECT_EQ(biases(RelativeBiasForm::none), 0);
  EXPECT_EQ(biases(RelativeBiasForm::t5), heads * 32);
  EXPECT_EQ(biases(RelativeBiasForm::toeplitz), heads * 17);

  Random random(1);
  const TransformerBlock<float> toeplitz(
      {.channels = channels,
       .token_mixer = {.heads = heads, .causal = true, .relative_bias = RelativeBiasForm::toeplitz, .max_length = 9},
       .channel_mixer = {.hidden = 20}},
      random);
  EXPECT_EQ(toeplitz.longest(), 9);
  EXPECT_EQ(toeplitz.start().capacity(), 9);
  EXPECT_TRUE(refuses<ShapeError>([&] { run(toeplitz, random_matrix<float>(10, channels, 2), Sequences::single(10)); },
                                  "MixerBlock::forward: sequence 0 of 1 has 10 tokens, expected 9 at most. Build the Toeplitz "
                                  "bias with a larger max_length"));
}

TEST(TransformerBlock, HasTheParameterCountOfBertBase) {
  EXPECT_EQ(parameter_count(TransformerBlock<float>({.channels = 768})), 7087872);
}

TEST(TransformerBlock, StartsWithEqualLocalAndGlobalQueriesAndKeys) {
  const TransformerBlock<float> block(configs()[2]);
  EXPECT_TRUE((block.tokens.mixer.global_qk.weight.array() == 1).all());
  EXPECT_TRUE(block.tokens.mixer.global_qk.bias.isZero(0));
}

TEST(TransformerBlock, StatesStoreKeysAndValuesOrTheirSums) {
  EXPECT_EQ(TransformerBlock<float>(configs()[5]).start(20).bytes(), sizeof(float) * 20 * 2 * channels);
  const auto mixed = TransformerBlock<float>(configs()[7]).start();
  EXPECT_EQ(mixed.bytes(), sizeof(float) * (channels * width + 3 * chunk * channels));
  EXPECT_EQ(mixed.capacity(), State<float>::unlimited);
}

TEST(TransformerBlock, RefusesInvalidConfigurations) {
  EXPECT_TRUE(refuses<ArgumentError>([] { SelfAttention<float>({.channels = 10, .heads = 3}); },
                                     "SelfAttention: heads = 3 does not divide channels = 10."));
  EXPECT_TRUE(refuses<ArgumentError>([] { SelfAttention<float>({.channels = -4, .heads = 2}); },
                                     "SelfAttention: channels = -4 and heads = 2 must be positive."));
  EXPECT_THROW(SelfAttention<float>({.channels = 12, .heads = 3, .chunk = 0}), ArgumentError);
  EXPECT_TRUE(refuses<ArgumentError>([] { SelfAttention<float>({.channels = 12, .heads = 3, .rotary_dimensions = -2}); },
                                     "rotary_dimensions = -2, expected 0 … the width of a head, 4."));
  EXPECT_TRUE(refuses<ArgumentError>(
      [] { SelfAttention<float>({.channels = 12, .heads = 3, .reduction = LinearReduction::own_chunk, .causal = true}); },
      "reduction = own_chunk needs causal = false"));
  EXPECT_TRUE(refuses<ArgumentError>(
      [] {
        SelfAttention<float>(
            {.channels = 12, .heads = 3, .form = AttentionForm::mixed_chunk, .relative_bias = RelativeBiasForm::t5});
      },
      "Set form = softmax or relative_bias = none"));
  EXPECT_TRUE(refuses<ArgumentError>(
      [] { SelfAttention<float>({.channels = 12, .heads = 3, .relative_bias = RelativeBiasForm::toeplitz}); },
      "RelativeBias: max_length = 0"));
  EXPECT_TRUE(refuses<ArgumentError>([] { TransformerBlock<float>(configs()[0]).start(4); }, "causal = true"));
  EXPECT_TRUE(refuses<ArgumentError>([] { TransformerBlock<float>(configs()[5]).start(); }, "start(capacity)"));
}

}  // namespace
}  // namespace gated::transformer_block_test
