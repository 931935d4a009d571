#pragma once

#include <algorithm>

#include "gated/core/words.hpp"
#include "gated/layers/gated_projection.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/layers/relative_bias.hpp"
#include "gated/layers/rotary_embedding.hpp"
#include "gated/ops/chunk_attention.hpp"
#include "gated/ops/token_shift.hpp"

/// @file
/// The FLASH layer: local quadratic attention in chunks plus global linear attention (Hua et al., arXiv:2202.10447, §3).

namespace gated {

/// The order of OffsetScale's rows, which differs between implementations.
enum class OffsetScaleOrder {
  lucidrains,  ///< local query, global query, local key, global key
  paper        ///< local query, local key, global query, global key
};

constexpr auto names_of(OffsetScaleOrder) { return words_for<OffsetScaleOrder>("lucidrains", "paper"); }

/// The options of a FLASH layer. The defaults are those of lucidrains' FLASH-pytorch, the most widely used implementation;
/// models/gau_presets.hpp has a preset per published variant.
struct MixedChunkAttentionConfig {
  Index channels = 0;                                        ///< C (d in the paper)
  Index value = 0;                                           ///< E (e in the paper), width of u and v, usually 2·C
  Index query_key = 128;                                     ///< S (s in the paper), width of queries and keys
  Index chunk = 256;                                         ///< c, tokens per chunk
  ProjectionLayout projection = ProjectionLayout::separate;  ///< one or two matrices for u, v and z; must match the checkpoint
  Activation activation = Activation::silu;                  ///< activation of u, v and z
  NormForm norm = NormForm::layer_norm;                      ///< norm of the input
  double norm_eps = 1e-5;                                    ///< ε of the norm
  ScoreKernel kernel = ScoreKernel::relu2;                   ///< kernel of the local part: relu2 or Laplace
  RelativeBiasForm relative_bias = RelativeBiasForm::t5;     ///< form of B, the relative bias within a chunk
  OffsetScaleOrder offset_scale_order = OffsetScaleOrder::lucidrains;  ///< order of OffsetScale's rows
  LinearReduction reduction = LinearReduction::sum;                    ///< how the products KᵀV of the chunks combine into M
  Rotary rotary = Rotary::none;                                        ///< RoPE on queries and keys
  Index rotary_dimensions = 0;                                         ///< r, number of rotated channels; 0 for S
  double rotary_base = 10000.0;                                        ///< RoPE base; longest wavelength: about 2π · base
  bool token_shift = false;  ///< the first half of the channels is read from the previous token
  bool causal = false;       ///< no token sees a later one

  Index rotated() const { return rotary_dimensions > 0 ? rotary_dimensions : query_key; }
  GatedProjectionConfig projections() const {
    return {.channels = channels, .value = value, .query_key = query_key, .layout = projection, .activation = activation};
  }

  template <class C = MixedChunkAttentionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("value", &C::value), setting("query_key", &C::query_key),
                  setting("chunk", &C::chunk), setting("projection", &C::projection), setting("activation", &C::activation),
                  setting("norm", &C::norm), setting("norm_eps", &C::norm_eps), setting("kernel", &C::kernel),
                  setting("relative_bias", &C::relative_bias), setting("offset_scale_order", &C::offset_scale_order),
                  setting("reduction", &C::reduction), setting("rotary", &C::rotary),
                  setting("rotary_dimensions", &C::rotary_dimensions), setting("rotary_base", &C::rotary_base),
                  setting("token_shift", &C::token_shift), setting("causal", &C::causal));
  }
};

/// y = x + (u ⊙ (A v + Q M)) W_o with A = relu²(q kᵀ / c + B) within each chunk and M = Σ KᵀV over the chunks, or the earlier
/// chunks if causal, scaled as in LinearReduction (arXiv:2202.10447, eq. 7). GatedProjection computes u, v and z. The local q
/// and k and the global Q and K are scaled and shifted copies of z.
///
/// Masked tokens are not attended to, but count in the length n that LinearReduction divides by. The last chunk may be shorter.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError if x or the mask has the wrong size.
/// Cost: 2·rows·(3·C·E + C·S + c·(S + E) + 2·S·E) flops. Scratch: rows × (2C + 2E + 5S) + c·(c + E) + S·E elements. A stream's
/// state has S·E + c·(2S + E) elements at any length, plus C with token shift.
template <class T>
struct MixedChunkAttention : Layer<MixedChunkAttention<T>> {
  using Config = MixedChunkAttentionConfig;
  static constexpr const char* name = "MixedChunkAttention";
  static constexpr const char* architecture = "gated.MixedChunkAttention";

  MixedChunkAttentionConfig config;
  Norm<T> norm;
  GatedProjection<T> projection;
  OffsetScale<T> offset_scale;  ///< four rows, see OffsetScaleOrder
  RotaryEmbedding<T> rotary;
  RelativeBias<T> relative_bias;  ///< B; the T5 form is scaled by √S
  Linear<T> proj_out;

  MixedChunkAttention() = default;
  explicit MixedChunkAttention(const MixedChunkAttentionConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.value > 0 && c.query_key > 0, "MixedChunkAttention: channels = ", c.channels,
                           ", value = ", c.value, ", query_key = ", c.query_key, " must be positive.");
    expect_chunk(name, c.chunk);
    require<ArgumentError>(c.kernel != ScoreKernel::softmax && c.kernel != ScoreKernel::softmax_plus,
                           "MixedChunkAttention: kernel = ", name_of(c.kernel),
                           ", expected relu2 or laplace: the local and global parts are added without a softmax.");
    require<ArgumentError>(
        !c.causal || c.reduction != LinearReduction::own_chunk,
        "MixedChunkAttention: reduction = own_chunk lets tokens see later tokens of their chunk. Set reduction = sum or mean, "
        "or causal = false.");
    require<ArgumentError>(c.rotary_dimensions >= 0 && (c.rotary == Rotary::none || c.rotated() <= c.query_key),
                           "MixedChunkAttention: rotary_dimensions = ", c.rotary_dimensions,
                           ", expected 0 … query_key = ", c.query_key, ".");
    norm = Norm<T>(c.channels, c.norm_eps, c.norm);
    projection = GatedProjection<T>(c.projections());
    offset_scale = OffsetScale<T>(4, c.query_key, true);
    rotary = RotaryEmbedding<T>(c.rotary, c.rotated(), c.rotary_base);
    relative_bias = RelativeBias<T>(c.relative_bias, c.causal, std::sqrt(static_cast<T>(c.query_key)), c.chunk);
    proj_out = Linear<T>(c.value, c.channels);
  }
  MixedChunkAttention(const MixedChunkAttentionConfig& c, Random& random) : MixedChunkAttention(c) { this->initialize(random); }

  static constexpr auto fields() {
    using M = MixedChunkAttention;
    return Fields(field("norm", &M::norm), field("projection", &M::projection), field("offset_scale", &M::offset_scale),
                  field("rotary", &M::rotary), field("relative_bias", &M::relative_bias), field("proj_out", &M::proj_out));
  }

  Contract contract() const {
    return {.in = config.channels, .out = config.channels, .sees = config.causal ? Sees::past : Sees::all, .takes_mask = true};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x) const {
    auto normed = run(norm, x);  // N × C
    auto parts = projection.project(run, config.token_shift ? shift_first_half(run, normed) : std::move(normed));
    const auto made = [&](Index row) { return run(offset_scale, parts.z, row); };  // N × S
    const bool paper = config.offset_scale_order == OffsetScaleOrder::paper;
    auto first = made(0), second = made(paper ? 1 : 2), third = made(paper ? 2 : 1), last = made(3);
    auto [local_q, local_k, global_q, global_k] =
        rotary.rotate(run, std::move(first), std::move(second), std::move(third), std::move(last));
    const Index longest = Run::streams ? config.chunk : std::min(config.chunk, run.sequences().longest());
    const RelativeBiasTerms<T> relative = relative_bias.terms(run, longest);
    ChunkInputs<Run> inputs{.local_q = local_q,
                            .local_k = local_k,
                            .global_q = global_q,
                            .global_k = std::move(global_k),
                            .values = parts.v,
                            .relative_gradient = relative.gradient};
    const ChunkMixing<T> mixing{.chunk = config.chunk,
                                .reduction = config.reduction,
                                .local = {.kernel = config.kernel,
                                          .scale = T{1} / static_cast<T>(config.chunk),
                                          .causal = config.causal,
                                          .relative = relative.values}};
    const auto gated = mix_chunks(run, std::move(inputs), mixing, Epilogue<Run>{.gate = std::move(parts.u)});  // N × E
    return run(proj_out, gated, {.residual = std::move(x)});                                                   // N × C
  }
};

}  // namespace gated
