#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/ops/chunk_attention.hpp"

/// @file
/// The standard Transformer block, with softmax or mixed-chunk attention: what the gated models are compared with.

namespace gated {

/// What mixes the tokens of a Transformer block.
enum class TransformerAttention {
  softmax,     ///< softmax(q kᵀ / √w) v (arXiv:1706.03762): the Transformer baseline
  mixed_chunk  ///< local relu² plus global linear attention in each head: the FLASH paper's MC-TFM
};

constexpr auto names_of(TransformerAttention) { return words_for<TransformerAttention>("softmax", "mixed_chunk"); }

/// The options of a Transformer block.
struct TransformerBlockConfig {
  Index channels = 0;                                              ///< C
  Index heads = 12;                                                ///< each C / heads wide
  Index feed_forward = 0;                                          ///< F; 0 for 4·C
  TransformerAttention attention = TransformerAttention::softmax;  ///< what mixes tokens
  Index chunk = 256;                                               ///< c, of mixed-chunk attention
  LinearReduction reduction = LinearReduction::sum;                ///< how mixed-chunk attention sums over chunks
  bool causal = false;                                             ///< tokens see no later ones
  Activation activation = Activation::gelu;                        ///< between the two projections
  double norm_eps = 1e-5;                                          ///< ε of both norms

  Index hidden() const { return feed_forward > 0 ? feed_forward : 4 * channels; }

  template <class C = TransformerBlockConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("heads", &C::heads), setting("feed_forward", &C::feed_forward),
                      setting("attention", &C::attention), setting("chunk", &C::chunk), setting("reduction", &C::reduction),
                      setting("causal", &C::causal), setting("activation", &C::activation), setting("norm_eps", &C::norm_eps));
  }
};

/// h = x + attention(LN(x)) W_o; y = h + act(LN(h) W₁) W₂, pre-norm, several heads.
///
/// With mixed-chunk attention each head of width w computes A v + Q M of ops/mixed_chunk.hpp, with A = relu²(q kᵀ / c) within a
/// chunk; the queries and keys of the global part are scaled and shifted copies of the local ones (arXiv:2202.10447, §4; the
/// paper gives no code for this baseline). A mask holds a 0 or 1 per row: masked tokens are not attended to.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built, ShapeError when run.
/// Cost: 2·rows·(4·C² + 2·C·F) + 4·N²·C flops a sequence, the last term 2·N·C·(2c + 4w) with mixed-chunk attention. A stream's
/// state has capacity × 2C numbers, or C·w + 3·c·C.
template <class T>
struct TransformerBlock : SequenceLayer<TransformerBlock<T>, T> {
  using Scalar = T;
  using Config = TransformerBlockConfig;
  static constexpr const char* name = "TransformerBlock";
  static constexpr const char* architecture = "gated.TransformerBlock";
  static constexpr bool takes_mask = true;

  TransformerBlockConfig config;
  Norm<T> attention_norm;
  Linear<T> qkv;             ///< 3C × C: the rows of q, then k, then v, each head by head
  OffsetScale<T> global_qk;  ///< rows q, k; mixed-chunk only
  Linear<T> proj_out;
  Norm<T> feed_forward_norm;
  Linear<T> feed_forward_in, feed_forward_out;

  TransformerBlock() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit TransformerBlock(const TransformerBlockConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.heads > 0 && c.channels % c.heads == 0, "TransformerBlock: heads = ", c.heads,
                           " does not divide channels = ", c.channels, ".");
    require<ArgumentError>(c.chunk > 0 && !(c.causal && c.reduction == LinearReduction::own_chunk),
                           "TransformerBlock: chunk = ", c.chunk,
                           " must be positive, and reduction = own_chunk needs causal = false.");
    const Index hidden = config.feed_forward = c.hidden();
    attention_norm = feed_forward_norm = Norm<T>(c.channels, c.norm_eps);
    qkv = Linear<T>(c.channels, 3 * c.channels);
    if (c.attention == TransformerAttention::mixed_chunk) {
      global_qk = OffsetScale<T>(2, c.channels, true);
      global_qk.weight.setOnes();
    }
    proj_out = Linear<T>(c.channels, c.channels);
    feed_forward_in = Linear<T>(c.channels, hidden);
    feed_forward_out = Linear<T>(hidden, c.channels);
  }
  /// With the parameters that a training starts from.
  TransformerBlock(const TransformerBlockConfig& c, Random& random) : TransformerBlock(c) { initialize(random); }

  /// The values in one of this configuration.
  static Count value_count(const TransformerBlockConfig& c) {
    const Count channels = c.channels, hidden = c.feed_forward > 0 ? Count(c.feed_forward) : 4 * channels;
    return 2 * Norm<T>::value_count(channels) + Linear<T>::value_count(channels, 3 * channels) +
           (c.attention == TransformerAttention::mixed_chunk ? OffsetScale<T>::value_count(2, channels, true) : 0) +
           Linear<T>::value_count(channels, channels) + Linear<T>::value_count(channels, hidden) +
           Linear<T>::value_count(hidden, channels);
  }

  static constexpr auto fields() {
    using B = TransformerBlock;
    return std::tuple(field("attention_norm", &B::attention_norm), field("qkv", &B::qkv), field("global_qk", &B::global_qk),
                      field("proj_out", &B::proj_out), field("feed_forward_norm", &B::feed_forward_norm),
                      field("feed_forward_in", &B::feed_forward_in), field("feed_forward_out", &B::feed_forward_out));
  }

  void initialize(Random& random) {
    for (Linear<T>* linear : {&qkv, &proj_out, &feed_forward_in, &feed_forward_out}) {
      linear->initialize(random);
    }
  }

  Index in() const { return config.channels; }
  Index out() const { return config.channels; }
  /// True if no output depends on a later token.
  bool is_causal() const { return config.causal; }

  void check(Where where, const Sequences& sequences, Mask mask) const {
    expect_mask(where, mask, sequences, config.attention == TransformerAttention::softmax);
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    if constexpr (Run::streams) {
      require<ArgumentError>(config.causal, run.where(),
                             ": the block is not causal, so a token's output depends on later tokens. Build it with causal = "
                             "true to stream.");
    }
    const auto mixed = mix(run, run(attention_norm, x));                                                     // N × C
    const auto h = run(proj_out, mixed, {.residual = x}, to);                                                // N × C
    const auto hidden = run(feed_forward_in, run(feed_forward_norm, h), {.activation = config.activation});  // N × F
    return run(feed_forward_out, hidden, {.residual = h}, run.over(h));                                      // N × C
  }

 private:
  /// The heads' outputs side by side, N × C.
  template <class Run>
  auto mix(Run& run, const RowsOf<Run>& z) const {
    const Index channels = config.channels, heads = config.heads;
    const auto projected = run(qkv, z);  // N × 3C
    const auto q = run.columns(projected, 0, channels), k = run.columns(projected, channels, channels);
    const auto v = run.columns(projected, 2 * channels, channels);
    if (config.attention == TransformerAttention::mixed_chunk) {
      const ChunkInputs<Run> inputs{.local_q = q,
                                    .local_k = k,
                                    .global_q = run(global_qk, q, {.row = 0}),
                                    .global_k = run(global_qk, k, {.row = 1}),
                                    .values = v,
                                    .heads = heads};
      const ChunkMixing<T> mixing{
          .chunk = config.chunk,
          .reduction = config.reduction,
          .local = {.kernel = ScoreKernel::relu2, .scale = T{1} / static_cast<T>(config.chunk), .causal = config.causal}};
      return mix_chunks(run, inputs, mixing, Fused<Run>(), {});
    }
    const T* const visible = mask_values<T>(run.mask(), run);
    const T scale = T{1} / std::sqrt(static_cast<T>(channels / heads));
    const auto scoring_of = [this, scale, visible](const Sequences& sequences, Index b) {
      return Scoring<T>{.kernel = ScoreKernel::softmax,
                        .scale = scale,
                        .causal = config.causal,
                        .keys = visible == nullptr ? nullptr : visible + sequences.offset(b)};
    };
    return attend(run, AttentionInputs<Run>{.q = q, .k = k, .v = v, .heads = heads}, scoring_of, Fused<Run>(), {});
  }
};

}  // namespace gated
