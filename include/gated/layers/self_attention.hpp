#pragma once

#include <algorithm>
#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/layers/relative_bias.hpp"
#include "gated/layers/rotary_embedding.hpp"
#include "gated/ops/chunk_attention.hpp"
#include "gated/ops/gather.hpp"

/// @file
/// Multi-head attention, the token mixer of a Transformer.

namespace gated {

/// How heads compute attention.
enum class AttentionForm {
  softmax,     ///< softmax(q kᵀ / √a) v (arXiv:1706.03762): the Transformer baseline
  mixed_chunk  ///< local relu² plus global linear attention in each head: the FLASH paper's MC-TFM
};

constexpr auto names_of(AttentionForm) { return words_for<AttentionForm>("softmax", "mixed_chunk"); }

/// A gate σ(W_g x + b_g) that multiplies the heads' outputs.
enum class AttentionGate {
  none,
  per_head,    ///< one factor per head: BS-RoFormer
  per_channel  ///< one factor per channel of each head
};

constexpr auto names_of(AttentionGate) { return words_for<AttentionGate>("none", "per_head", "per_channel"); }

/// The options of self-attention.
struct SelfAttentionConfig {
  Index channels = 0;                                       ///< C
  Index heads = 12;                                         ///< H
  Index key_value_heads = 0;                                ///< G, number of key and value heads (GQA); 0 for H
  Index head_width = 0;                                     ///< a, channels per head; 0 for C / H
  AttentionForm form = AttentionForm::softmax;              ///< how heads compute attention
  Index chunk = 256;                                        ///< c, tokens per chunk of mixed-chunk attention
  LinearReduction reduction = LinearReduction::sum;         ///< how the chunks of mixed-chunk attention combine
  bool causal = false;                                      ///< no token sees a later one
  Index window = 0;                                         ///< W, window size in tokens: see SelfAttention; 0 for no window
  Rotary rotary = Rotary::none;                             ///< RoPE on queries and keys; softmax only
  Index rotary_dimensions = 0;                              ///< r, number of rotated channels per head; 0 for all channels
  double rotary_base = 10000.0;                             ///< RoPE base; longest wavelength: about 2π · base
  RelativeBiasForm relative_bias = RelativeBiasForm::none;  ///< form of the relative bias B, learned per head; softmax only
  Index max_length = 0;                                     ///< L, the number of positions of a Toeplitz bias
  NormForm query_key_norm = NormForm::none;                 ///< norm of each head's queries and keys, before the rotation
  double query_key_norm_eps = 1e-6;                         ///< ε of the norm of queries and keys
  AttentionGate gate = AttentionGate::none;                 ///< gate of the heads' outputs
  bool bias = true;                                         ///< adds biases to queries, keys and values
  bool gate_bias = true;                                    ///< adds b_g
  bool out_bias = true;                                     ///< adds b_o

  Index key_heads() const { return key_value_heads > 0 ? key_value_heads : heads; }
  Index width() const { return head_width > 0 ? head_width : heads > 0 ? channels / heads : 0; }
  Index rotated() const { return rotary_dimensions > 0 ? rotary_dimensions : width(); }
  /// The largest distance between a query and a key that it attends to.
  Index reach() const { return window <= 0 ? unlimited_reach : std::min(causal ? window - 1 : window / 2, unlimited_reach); }

  template <class C = SelfAttentionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("heads", &C::heads),
                  setting("key_value_heads", &C::key_value_heads), setting("head_width", &C::head_width),
                  setting("form", &C::form), setting("chunk", &C::chunk), setting("reduction", &C::reduction),
                  setting("causal", &C::causal), setting("window", &C::window), setting("rotary", &C::rotary),
                  setting("rotary_dimensions", &C::rotary_dimensions), setting("rotary_base", &C::rotary_base),
                  setting("relative_bias", &C::relative_bias), setting("max_length", &C::max_length),
                  setting("query_key_norm", &C::query_key_norm), setting("query_key_norm_eps", &C::query_key_norm_eps),
                  setting("gate", &C::gate), setting("bias", &C::bias), setting("gate_bias", &C::gate_bias),
                  setting("out_bias", &C::out_bias));
  }
};

/// y = W_o [concatenated heads] + b_o, with queries, keys and values from one projection (arXiv:1706.03762, §3.2).
///
///     SelfAttention<float> attention({.channels = 1024, .heads = 16, .key_value_heads = 8, .head_width = 128, .causal = true,
///                                     .rotary = Rotary::half, .rotary_base = 1e6, .query_key_norm = NormForm::rms_norm,
///                                     .bias = false, .out_bias = false});   // Qwen3-0.6B
///
/// With grouped-query attention (G < H), query head h uses key and value head ⌊h·G / H⌋ (arXiv:2305.13245).
/// With a window, token i attends to tokens j with i - W < j ≤ i if causal (arXiv:2310.06825), otherwise |i - j| ≤ ⌊W / 2⌋
/// (arXiv:2004.05150).
/// With `query_key_norm`, each head's queries and keys are normalized, with weights shared by all heads (arXiv:2010.04245).
/// With `rotary`, queries and keys are rotated by position, head by head (arXiv:2104.09864).
/// With a gate, the heads' outputs are multiplied by σ(W_g x + b_g) before W_o (arXiv:2505.06708, arXiv:2309.02612).
/// With `relative_bias`, A = softmax(q kᵀ / √a + B), where B_ij depends on the offset j - i: one value per bucket of T5
/// (arXiv:1910.10683), or one per offset.
/// With mixed-chunk attention, each head computes A v + Q M (see ops/mixed_chunk.hpp), with A = relu²(q kᵀ / c) within a chunk.
/// The global queries and keys are the local ones, scaled and shifted (arXiv:2202.10447, §4; the paper has no code for this
/// baseline). None of the options above can be combined with mixed-chunk attention.
/// Masked tokens are not attended to.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, and for a stream without `causal`. A stream of softmax attention with neither a
/// window nor a Toeplitz bias also needs a capacity. ShapeError for wrong shapes, and for sequences longer than the Toeplitz
/// bias.
/// Cost: 4·rows·C·a·(H + G) flops, plus 4·N²·a·H per sequence of N tokens. With a window, at most N·(3W + 64) replaces N²; with
/// mixed-chunk attention, the second term is 4·N·C·(c + a) instead. A stream's state has capacity × 2·a·G elements; with a
/// window min(capacity, 1¼·W) × 2·a·G; with mixed-chunk attention C·a + 3·c·C.
template <class T>
struct SelfAttention : Layer<SelfAttention<T>> {
  using Config = SelfAttentionConfig;
  static constexpr const char* name = "SelfAttention";
  static constexpr const char* architecture = "gated.SelfAttention";

  SelfAttentionConfig config;
  Linear<T> qkv;                      ///< (H + 2G)·a × C: the rows of q, then k, then v, each head by head
  OffsetScale<T> global_qk;           ///< row 0 for queries, row 1 for keys; mixed-chunk only
  std::optional<Norm<T>> query_norm;  ///< a
  std::optional<Norm<T>> key_norm;    ///< a
  RotaryEmbedding<T> rotary;
  RelativeBias<T> relative_bias;
  std::optional<Linear<T>> gate;  ///< W_g: H × C or H·a × C
  Linear<T> proj_out;             ///< W_o: C × H·a

  SelfAttention() = default;
  explicit SelfAttention(const SelfAttentionConfig& c) : config(c) {
    expect_possible();
    const Count width = c.width(), outputs = c.heads * width;
    qkv = Linear<T>(c.channels, (outputs + width * c.key_heads() * 2).value(), c.bias);
    if (c.query_key_norm != NormForm::none) {
      query_norm.emplace(c.width(), c.query_key_norm_eps, c.query_key_norm, c.heads);
      key_norm.emplace(c.width(), c.query_key_norm_eps, c.query_key_norm, c.key_heads());
    }
    rotary = RotaryEmbedding<T>(c.rotary, c.rotated(), c.rotary_base);
    relative_bias = RelativeBias<T>(c.relative_bias, c.causal, T{1}, c.max_length, c.heads);
    if (c.form == AttentionForm::mixed_chunk) {
      global_qk = OffsetScale<T>(2, c.channels, true);
      global_qk.weight.setOnes();
    }
    if (c.gate != AttentionGate::none) {
      gate.emplace(c.channels, c.gate == AttentionGate::per_head ? c.heads : outputs.value(), c.gate_bias);
    }
    proj_out = Linear<T>(outputs.value(), c.channels, c.out_bias);
  }
  SelfAttention(const SelfAttentionConfig& c, Random& random) : SelfAttention(c) { this->initialize(random); }

  static constexpr auto fields() {
    using A = SelfAttention;
    return Fields(field("qkv", &A::qkv), field("global_qk", &A::global_qk), field("query_norm", &A::query_norm),
                  field("key_norm", &A::key_norm), field("rotary", &A::rotary), field("relative_bias", &A::relative_bias),
                  field("gate", &A::gate), field("proj_out", &A::proj_out));
  }

  /// Initializes the projections, the gate and the relative bias. Norms and the scales of mixed-chunk attention are unchanged.
  void initialize(Random& random) {
    qkv.initialize(random);
    relative_bias.initialize(random);
    if (gate) {
      gate->initialize(random);
    }
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
  void expect_possible() const {
    const SelfAttentionConfig& c = config;
    require<ArgumentError>(c.channels > 0 && c.heads > 0, name, ": channels = ", c.channels, " and heads = ", c.heads,
                           " must be positive.");
    require<ArgumentError>(c.key_value_heads >= 0 && c.head_width >= 0 && c.window >= 0, name,
                           ": key_value_heads = ", c.key_value_heads, ", head_width = ", c.head_width,
                           " and window = ", c.window, " must not be negative.");
    require<ArgumentError>(c.head_width > 0 || c.channels % c.heads == 0, name, ": heads = ", c.heads,
                           " does not divide channels = ", c.channels, ".");
    require<ArgumentError>(c.heads % c.key_heads() == 0, name, ": key_value_heads = ", c.key_value_heads,
                           " does not divide heads = ", c.heads, ".");
    expect_chunk(name, c.chunk);
    require<ArgumentError>(!c.causal || c.reduction != LinearReduction::own_chunk, name,
                           ": reduction = own_chunk needs causal = false.");
    require<ArgumentError>(c.rotary == Rotary::none || c.form == AttentionForm::softmax, name,
                           ": mixed-chunk attention has no RoPE. Set form = softmax or rotary = none.");
    require<ArgumentError>(c.rotary_dimensions >= 0 && (c.rotary == Rotary::none || c.rotated() <= c.width()), name,
                           ": rotary_dimensions = ", c.rotary_dimensions, ", expected 0 … the width of a head, ", c.width(),
                           ".");
    require<ArgumentError>(c.relative_bias == RelativeBiasForm::none || c.form == AttentionForm::softmax, name,
                           ": mixed-chunk attention has no relative bias. Set form = softmax or relative_bias = none.");
    const bool is_plain = c.key_heads() == c.heads && c.heads * Count(c.width()) == Count(c.channels) && c.window == 0 &&
                          c.query_key_norm == NormForm::none && c.gate == AttentionGate::none;
    require<ArgumentError>(is_plain || c.form == AttentionForm::softmax, name,
                           ": mixed-chunk attention has no key_value_heads, head_width, window, query_key_norm or gate. Set "
                           "form = softmax.");
  }

  /// The concatenated outputs of the heads, N × H·a.
  template <class Run>
  auto mix(Run& run, MatrixOf<Run> x) const {
    const Index width = config.width(), heads = config.heads, shared = config.key_heads() * width;
    Epilogue<Run> gating{.gate = gates(run, x)};
    auto [q, k, v] = run.split(run(qkv, std::move(x)), heads * width, shared, shared);
    if (config.form == AttentionForm::mixed_chunk) {
      return mix_by_chunks<Run>(run, std::move(q), std::move(k), std::move(v));
    }
    if (query_norm) {
      q = run(*query_norm, std::move(q));
      k = run(*key_norm, std::move(k));
    }
    const auto rotated = rotary.rotate_heads(run, width, std::move(q), std::move(k));
    const T* const visible = mask_values<T>(run.mask(), run);
    const T scale = T{1} / std::sqrt(static_cast<T>(width));
    const RelativeBiasTerms<T> relative = relative_bias.terms_within(run, config.reach());
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
                                      .key_heads = config.key_heads(),
                                      .reach = config.reach(),
                                      .relative_gradient = relative.gradient,
                                      .relative_stride = relative.stride};
    return attend(run, inputs, scoring_of, std::move(gating));
  }

  /// σ(W_g x + b_g), a factor for each element of the heads' outputs, N × H·a; empty if there is no gate.
  template <class Run>
  MatrixOf<Run> gates(Run& run, const MatrixOf<Run>& x) const {
    if (!gate) {
      return {};
    }
    auto g = run(*gate, x, {.activation = Activation::sigmoid});
    return config.gate == AttentionGate::per_head ? repeat_columns(run, g, config.width()) : g;
  }

  template <class Run>
  MatrixOf<Run> mix_by_chunks(Run& run, MatrixOf<Run> q, MatrixOf<Run> k, MatrixOf<Run> v) const {
    auto global_k = run(global_qk, k, Index{1});
    ChunkInputs<Run> inputs{.local_q = q,
                            .local_k = k,
                            .global_q = run(global_qk, q, Index{0}),
                            .global_k = std::move(global_k),
                            .values = v,
                            .heads = config.heads};
    const ChunkMixing<T> mixing{
        .chunk = config.chunk,
        .reduction = config.reduction,
        .local = {.kernel = ScoreKernel::relu2, .scale = T{1} / static_cast<T>(config.chunk), .causal = config.causal}};
    return mix_chunks(run, std::move(inputs), mixing, Epilogue<Run>());
  }
};

}  // namespace gated
