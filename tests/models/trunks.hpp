#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "gated/layers/glu_feed_forward.hpp"
#include "gated/layers/mixer_block.hpp"
#include "gated/layers/token_projection.hpp"
#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/language_model.hpp"
#include "gated/models/text_transformer.hpp"
#include "gmlps.hpp"
#include "tests/layers/literal_attention.hpp"

/// Small stacks of every kind of block, for tests of all trunks and models.

namespace gated::test {

/// The configuration of PlainBlock.
struct PlainBlockConfig {
  Index channels = 0;  ///< C
  bool causal = false;

  template <class C = PlainBlockConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("causal", &C::causal));
  }
};

/// A user-defined block with only what a stack needs: y = x + tanh(shift(x) Wᵀ + b).
template <class T>
struct PlainBlock : Layer<PlainBlock<T>> {
  using Config = PlainBlockConfig;
  static constexpr const char* name = "PlainBlock";
  static constexpr const char* architecture = "test.PlainBlock";

  PlainBlockConfig config;
  Linear<T> proj;

  PlainBlock() = default;
  explicit PlainBlock(const PlainBlockConfig& c) : config(c), proj(c.channels, c.channels) {}
  static constexpr auto fields() { return Fields(field("proj", &PlainBlock::proj)); }
  Contract contract() const {
    return {.in = config.channels, .out = config.channels, .sees = config.causal ? Sees::past : Sees::all};
  }

  auto apply(auto& run, auto x) const {
    auto shifted = token_shift(run, x, {.amount = 1, .causal = config.causal});
    return run(proj, std::move(shifted), {.activation = Activation::tanh, .residual = std::move(x)});
  }
};

// Kinds of trunk. Each has a template `Trunk<T>`, and `configs()`: small configurations that cover all options, with
// `small_channels` channels and lengths up to `length`. `takes_mask` is true if tokens can be masked. `remembers_tokens` is
// true if streams store every token: they then have a capacity and can rewind.

struct OfGmlpBlocks {
  template <class T>
  using Trunk = Gmlp<T>;
  static constexpr const char* architecture = "gated.Stack<gated.GmlpBlock>";
  static constexpr bool takes_mask = false, remembers_tokens = true;
  static std::vector<GmlpConfig> configs(bool causal, Index length = small_length) {
    std::vector<GmlpConfig> all = small_gmlps(causal);
    for (GmlpConfig& config : all) {
      config.length = length;
      config.length_policy = LengthPolicy::slice;
    }
    return all;
  }
};

struct OfMixedChunkAttention {
  template <class T>
  using Trunk = Flash<T>;
  static constexpr const char* architecture = "gated.Stack<gated.MixedChunkAttention>";
  static constexpr bool takes_mask = true, remembers_tokens = false;
  static std::vector<FlashConfig> configs(bool causal, Index = small_length) {
    const flash_presets::Sizes sizes{.channels = small_channels, .query_key = 8, .chunk = 5, .causal = causal};
    std::vector<FlashConfig> all{{.depth = 2, .block = flash_presets::lucidrains(sizes)},
                                 {.depth = 2, .block = flash_presets::paper(sizes)},
                                 {.depth = 2, .block = flash_presets::lucidrains(sizes)}};
    all[2].block.kernel = ScoreKernel::laplace;
    all[2].block.reduction = causal ? LinearReduction::mean : LinearReduction::own_chunk;
    return all;
  }
};

struct OfGatedAttentionUnits {
  template <class T>
  using Trunk = Stack<GatedAttentionUnit<T>>;
  static constexpr const char* architecture = "gated.Stack<gated.GatedAttentionUnit>";
  static constexpr bool takes_mask = true, remembers_tokens = true;
  static std::vector<StackConfig<GatedAttentionUnitConfig>> configs(bool causal, Index length = small_length) {
    const gau_presets::Sizes sizes{.channels = small_channels, .max_length = length, .query_key = 8};
    std::vector<GatedAttentionUnitConfig> units{gau_presets::flash_quad_junnyu(sizes), gau_presets::gau_alpha(sizes),
                                                gau_presets::lucidrains(sizes), gau_presets::rtmcc(sizes)};
    std::vector<StackConfig<GatedAttentionUnitConfig>> all;
    for (GatedAttentionUnitConfig& unit : units) {
      unit.causal = causal;
      if (causal && unit.score_scale == ScoreScale::length) {  // a stream does not know its length
        unit.score_scale = ScoreScale::max_length;
        unit.max_length = length;
      }
      if (causal && unit.kernel == ScoreKernel::softmax_plus) {
        unit.kernel = ScoreKernel::softmax;
      }
      all.push_back({.depth = 2, .block = unit});
    }
    return all;
  }
};

struct OfTransformerBlocks {
  template <class T>
  using Trunk = Stack<TransformerBlock<T>>;
  static constexpr const char* architecture = "gated.Stack<gated.MixerBlock<gated.SelfAttention,gated.FeedForward>>";
  static constexpr bool takes_mask = true, remembers_tokens = true;
  static std::vector<StackConfig<TransformerBlockConfig>> configs(bool causal, Index = small_length) {
    const SelfAttentionConfig two_heads{.heads = 2, .causal = causal},
        one_head{.heads = 1, .causal = causal, .rotary = Rotary::half};
    return {{.depth = 2, .block = {.channels = small_channels, .token_mixer = two_heads}},
            {.depth = 3, .block = {.channels = small_channels, .token_mixer = one_head, .channel_mixer = {.hidden = 7}}}};
  }
};

struct OfChunkedTransformerBlocks {
  template <class T>
  using Trunk = Stack<TransformerBlock<T>>;
  static constexpr const char* architecture = "gated.Stack<gated.MixerBlock<gated.SelfAttention,gated.FeedForward>>";
  static constexpr bool takes_mask = true, remembers_tokens = false;
  static std::vector<StackConfig<TransformerBlockConfig>> configs(bool causal, Index = small_length) {
    const SelfAttentionConfig attention{.heads = 2,
                                        .form = AttentionForm::mixed_chunk,
                                        .chunk = 4,
                                        .reduction = causal ? LinearReduction::mean : LinearReduction::sum,
                                        .causal = causal};
    return {{.depth = 2, .block = {.channels = small_channels, .token_mixer = attention}}};
  }
};

/// Blocks as in Llama and ModernBERT, with options that differ by layer.
struct OfTextTransformerBlocks {
  template <class T>
  using Trunk = Stack<GluTransformerBlock<T>>;
  static constexpr const char* architecture = "gated.Stack<gated.MixerBlock<gated.SelfAttention,gated.GluFeedForward>>";
  static constexpr bool takes_mask = true, remembers_tokens = true;
  static std::vector<Trunk<float>::Config> configs(bool causal, Index length = small_length) {
    if (!causal) {
      return {transformer_encoder({.channels = small_channels, .hidden = 7, .depth = 4, .heads = 1, .window = 6}).trunk};
    }
    return {transformer_decoder({.channels = small_channels,
                                 .hidden = 7,
                                 .depth = 2,
                                 .heads = 4,
                                 .key_value_heads = 2,
                                 .head_width = 6,
                                 .query_key_norm = true,
                                 .gate = AttentionGate::per_head,
                                 .window = length + 1,
                                 .windowed = {false, true}})
                .trunk};
  }
};

struct OfMixerBlocks {
  template <class T>
  using Trunk = Stack<MixerBlock<TokenProjection<T>, GluFeedForward<T>>>;
  static constexpr const char* architecture = "gated.Stack<gated.MixerBlock<gated.TokenProjection,gated.GluFeedForward>>";
  static constexpr bool takes_mask = false, remembers_tokens = true;
  static std::vector<Trunk<float>::Config> configs(bool causal, Index length = small_length) {
    Trunk<float>::Config pre{
        .depth = 2,
        .block = {.channels = small_channels,
                  .layer_scale = 0.1,
                  .token_mixer = {.length = length, .causal = causal, .length_policy = LengthPolicy::slice},
                  .channel_mixer = {.hidden = 7}}};
    Trunk<float>::Config post = pre;
    post.block.norm_position = NormPosition::post;
    post.block.channels_first = true;
    post.block.layer_scale = 0;
    return {pre, post};
  }
};

struct OfPlainBlocks {
  template <class T>
  using Trunk = Stack<PlainBlock<T>>;
  static constexpr const char* architecture = "gated.Stack<test.PlainBlock>";
  static constexpr bool takes_mask = false, remembers_tokens = true;
  static std::vector<StackConfig<PlainBlockConfig>> configs(bool causal, Index = small_length) {
    return {{.depth = 3, .block = {.channels = small_channels, .causal = causal}}};
  }
};

/// Computes a block by its formula. `mask` applies only to blocks that accept one.
template <class T>
Matrix<double> literal_block(const GmlpBlock<T>& block, const Matrix<double>& x, const Sequences& sequences,
                             const literal::Visible&) {
  return literal::block(block, x, sequences);
}
template <class T>
Matrix<double> literal_block(const MixedChunkAttention<T>& block, const Matrix<double>& x, const Sequences& sequences,
                             const literal::Visible& mask) {
  return literal::mixed_chunk_attention(block, x, sequences, mask);
}
template <class T>
Matrix<double> literal_block(const GatedAttentionUnit<T>& block, const Matrix<double>& x, const Sequences& sequences,
                             const literal::Visible& mask) {
  return literal::attention_unit(block, x, sequences, mask);
}
/// Computes a MixerBlock by forward(), which tests/layers compares with the formula. Only blocks with attention take a mask.
template <class TokenMixer, class ChannelMixer>
Matrix<double> literal_block(const MixerBlock<TokenMixer, ChannelMixer>& block, const Matrix<double>& x,
                             const Sequences& sequences, const literal::Visible&) {
  using T = typename TokenMixer::Scalar;
  Workspace<T> workspace;
  return wide(block.forward(x.cast<T>().eval(), sequences, workspace));
}
template <class T, class ChannelMixer>
Matrix<double> literal_block(const MixerBlock<SelfAttention<T>, ChannelMixer>& block, const Matrix<double>& x,
                             const Sequences& sequences, const literal::Visible& mask) {
  Workspace<T> workspace;
  return wide(block.forward(x.cast<T>().eval(), sequences, workspace, mask));
}
template <class T>
Matrix<double> literal_block(const PlainBlock<T>& block, const Matrix<double>& x, const Sequences& sequences,
                             const literal::Visible&) {
  const Matrix<double> shifted = literal::token_shift(x, sequences, 1, block.config.causal);
  return x + literal::activate(Activation::tanh, literal::linear(block.proj, shifted));
}

/// Computes a language model by its formula.
template <class Model>
Matrix<double> literal_model(const Model& model, const std::vector<Index>& tokens, const Sequences& sequences,
                             const literal::Visible& mask = {}, const std::vector<Index>& types = {}) {
  using T = typename Model::Scalar;
  const Index width = model.trunk.in();
  Matrix<double> x(static_cast<Index>(tokens.size()), width);
  for (Index b = 0; b < sequences.count(); ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      const Index row = sequences.offset(b) + t;
      const auto at = static_cast<std::size_t>(row);
      for (Index d = 0; d < width; ++d) {
        x(row, d) = static_cast<double>(model.embedding.weight(tokens[at], d));
        if (model.type_embedding) {
          x(row, d) += static_cast<double>(model.type_embedding->weight(types.empty() ? 0 : types[at], d));
        }
        if (model.position_table) {
          x(row, d) += static_cast<double>(model.position_table->weight(t, d));
        }
        if (is_sinusoid(model.config.position)) {
          const Index k = d % (width / 2);
          const double angle =
              static_cast<double>(t) * std::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(width));
          x(row, d) += static_cast<double>(model.position.scale(0)) * (d < width / 2 ? std::sin(angle) : std::cos(angle));
        }
      }
    }
  }
  x = literal::norm(model.embedding_norm, x);
  if (model.embedding_projection) {
    x = literal::linear(*model.embedding_projection, x);
  }
  for (const auto& block : model.trunk.blocks) {
    x = literal_block(block, x, sequences, mask);
  }
  if (!model.head) {
    return x;
  }
  const LanguageModelHead<T>& head = *model.head;
  if (head.dense) {
    x = literal::activate(head.config.activation, literal::linear(*head.dense, x));
  }
  x = literal::norm(head.norm, x);
  if (head.output) {
    return literal::linear(*head.output, x);
  }
  Linear<T> decoder(width, model.config.vocabulary, false);
  decoder.weight = model.embedding.weight;
  decoder.bias = head.bias;
  return literal::linear(decoder, x);
}

/// `count` random ids in [first, vocabulary).
inline std::vector<Index> random_tokens(Index count, Index vocabulary, Index first = 0, std::uint64_t seed = 9) {
  std::vector<Index> tokens(static_cast<std::size_t>(count));
  Random random(seed);
  for (Index& token : tokens) {
    token = first + static_cast<Index>(random.uniform() * static_cast<double>(vocabulary - first));
  }
  return tokens;
}

/// NaN, infinities and huge values.
template <class T>
std::vector<T> bad_numbers() {
  using Limits = std::numeric_limits<T>;
  return {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::max()};
}

}  // namespace gated::test
