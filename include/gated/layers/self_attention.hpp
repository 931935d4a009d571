#pragma once

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/layers/relative_bias.hpp"
#include "gated/layers/rotary_embedding.hpp"
#include "gated/ops/chunk_attention.hpp"

/// @file
/// The token mixer of a Transformer: multi-head attention.

namespace gated {

/// How heads weigh tokens.
enum class AttentionForm {
  softmax,     ///< softmax(q kᵀ / √w) v (arXiv:1706.03762): the Transformer baseline
  mixed_chunk  ///< local relu² plus global linear attention in each head: the FLASH paper's MC-TFM
};

constexpr auto names_of(AttentionForm) { return words_for<AttentionForm>("softmax", "mixed_chunk"); }

/// The options of self-attention.
struct SelfAttentionConfig {
  Index channels = 0;                                       ///< C
  Index heads = 12;                                         ///< each C / heads wide
  AttentionForm form = AttentionForm::softmax;              ///< how heads weigh tokens
  Index chunk = 256;                                        ///< c, of mixed-chunk attention
  LinearReduction reduction = LinearReduction::sum;         ///< how mixed-chunk attention sums over the chunks
  bool causal = false;                                      ///< no token sees a later one
  Rotary rotary = Rotary::none;                             ///< RoPE on queries and keys; softmax only
  Index rotary_dimensions = 0;                              ///< r, per head; 0 for all
  double rotary_base = 10000.0;                             ///< the longest wavelength is about 2π times this
  RelativeBiasForm relative_bias = RelativeBiasForm::none;  ///< B, learned for each head; softmax only
  Index max_length = 0;                                     ///< L, the number of positions of a Toeplitz bias

  Index width() const { return heads > 0 ? channels / heads : 0; }
  Index rotated() const { return rotary_dimensions > 0 ? rotary_dimensions : width(); }

  template <class C = SelfAttentionConfig>
  static constexpr auto fields() {
    return std::tuple(setting("channels", &C::channels), setting("heads", &C::heads), setting("form", &C::form),
                      setting("chunk", &C::chunk), setting("reduction", &C::reduction), setting("causal", &C::causal),
                      setting("rotary", &C::rotary), setting("rotary_dimensions", &C::rotary_dimensions),
                      setting("rotary_base", &C::rotary_base), setting("relative_bias", &C::relative_bias),
                      setting("max_length", &C::max_length));
  }
};

/// y = W_o [the heads side by side] + b_o, with queries, keys and values from one projection (arXiv:1706.03762, §3.2).
///
/// With mixed-chunk attention each head of width w computes A v + Q M of ops/mixed_chunk.hpp, with A = relu²(q kᵀ / c) within a
/// chunk. Its global queries and keys are the local ones, scaled and shifted (arXiv:2202.10447, §4; the paper gives no code for
/// this baseline).
/// With `rotary`, queries and keys are rotated by position, head by head (arXiv:2104.09864).
/// With `relative_bias`, A = softmax(q kᵀ / √w + B), where B_ij depends on the distance of key and query, in T5's buckets
/// (arXiv:1910.10683) or with one value per offset.
/// Masked tokens are not attended to.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError when built, or streamed without `causal`; ShapeError when run, also if a Toeplitz bias holds too few
/// positions.
/// Cost: 8·rows·C² + 4·N²·C flops per sequence; with mixed-chunk attention, the last term is 2·N·C·(2c + 4w). A stream's state
/// has capacity × 2C elements, or C·w + 3·c·C with mixed-chunk attention.
template <class T>
struct SelfAttention : Layer<SelfAttention<T>> {
  using Config = SelfAttentionConfig;
  static constexpr const char* name = "SelfAttention";
  static constexpr const char* architecture = "gated.SelfAttention";

  SelfAttentionConfig config;
  Linear<T> qkv;             ///< 3C × C: the rows of q, then k, then v, each head by head
  OffsetScale<T> global_qk;  ///< rows q, k; mixed-chunk only
  RotaryEmbedding<T> rotary;
  RelativeBias<T> relative_bias;
  Linear<T> proj_out;  ///< W_o: C × C

  SelfAttention() = default;
  /// Uninitialised weights, for a checkpoint.
  explicit SelfAttention(const SelfAttentionConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.heads > 0, name, ": channels = ", c.channels, " and heads = ", c.heads,
                           " must be positive.");
    require<ArgumentError>(c.channels % c.heads == 0, name, ": heads = ", c.heads, " does not divide channels = ", c.channels,
                           ".");
    expect_chunk(name, c.chunk);
    require<ArgumentError>(!c.causal || c.reduction != LinearReduction::own_chunk, name,
                           ": reduction = own_chunk needs causal = false.");
    require<ArgumentError>(c.rotary == Rotary::none || (c.form == AttentionForm::softmax && c.rotated() <= c.width()), name,
                           ": rotary_dimensions = ", c.rotary_dimensions, ", expected at most the width of a head, ", c.width(),
                           ", and form = softmax.");
    require<ArgumentError>(c.relative_bias == RelativeBiasForm::none || c.form == AttentionForm::softmax, name,
                           ": mixed-chunk attention takes no relative bias. Set form = softmax or relative_bias = none.");
    qkv = Linear<T>(c.channels, (3 * Count(c.channels)).value());
    rotary = RotaryEmbedding<T>(c.rotary, c.rotated(), c.rotary_base);
    relative_bias = RelativeBias<T>(c.relative_bias, c.causal, T{1}, c.max_length, c.heads);
    if (c.form == AttentionForm::mixed_chunk) {
      global_qk = OffsetScale<T>(2, c.channels, true);
      global_qk.weight.setOnes();
    }
    proj_out = Linear<T>(c.channels, c.channels);
  }
  /// Weights drawn by initialize().
  SelfAttention(const SelfAttentionConfig& c, Random& random) : SelfAttention(c) { this->initialize(random); }

  static constexpr auto fields() {
    using A = SelfAttention;
    return std::tuple(field("qkv", &A::qkv), field("global_qk", &A::global_qk), field("rotary", &A::rotary),
                      field("relative_bias", &A::relative_bias), field("proj_out", &A::proj_out));
  }

  void initialize(Random& random) {
    qkv.initialize(random);
    relative_bias.initialize(random);
    proj_out.initialize(random);
  }

  Contract contract() const {
    return {.in = config.channels,
            .out = config.channels,
            .sees = config.causal ? Sees::past : Sees::all,
            .longest = relative_bias.longest(),
            .remedy = RelativeBias<T>::remedy,
            .takes_mask = true,
            .mask = {.softmax = config.form == AttentionForm::softmax}};
  }

  auto apply(auto& run, auto x, auto then) const { return run(proj_out, mix(run, std::move(x)), std::move(then)); }  // N × C

 private:
  /// The heads' outputs side by side, N × C.
  template <class Run>
  auto mix(Run& run, MatrixOf<Run> x) const {
    const Index channels = config.channels, heads = config.heads;
    auto [q, k, v] = run.split(run(qkv, std::move(x)), channels, channels, channels);
    if (config.form == AttentionForm::mixed_chunk) {
      auto global_k = run(global_qk, k, Index{1});
      ChunkInputs<Run> inputs{.local_q = q,
                              .local_k = k,
                              .global_q = run(global_qk, q, Index{0}),
                              .global_k = std::move(global_k),
                              .values = v,
                              .heads = heads};
      const ChunkMixing<T> mixing{
          .chunk = config.chunk,
          .reduction = config.reduction,
          .local = {.kernel = ScoreKernel::relu2, .scale = T{1} / static_cast<T>(config.chunk), .causal = config.causal}};
      return mix_chunks(run, std::move(inputs), mixing, Epilogue<Run>());
    }
    const auto rotated = rotary.rotate_heads(run, heads, std::move(q), std::move(k));
    const T* const visible = mask_values<T>(run.mask(), run);
    const T scale = T{1} / std::sqrt(static_cast<T>(channels / heads));
    const RelativeBiasTerms<T> relative = relative_bias.terms(run);
    const auto scoring_of = [this, scale, visible, values = relative.values](const Sequences& sequences, Index b) {
      return Scoring<T>{.kernel = ScoreKernel::softmax,
                        .scale = scale,
                        .causal = config.causal,
                        .relative = values,
                        .visible_keys = visible == nullptr ? nullptr : visible + sequences.offset(b)};
    };
    const AttentionInputs<Run> inputs{.q = rotated[0],
                                      .k = rotated[1],
                                      .v = v,
                                      .heads = heads,
                                      .relative_gradient = relative.gradient,
                                      .relative_stride = relative.stride};
    return attend(run, inputs, scoring_of, Epilogue<Run>());
  }
};

}  // namespace gated
