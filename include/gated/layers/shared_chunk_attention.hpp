#pragma once

#include <algorithm>

#include "gated/layers/convolutional_projection.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/layers/rotary_embedding.hpp"
#include "gated/ops/chunk_attention.hpp"
#include "gated/ops/token_shift.hpp"

/// @file
/// The attention of MossFormer2: FLASH with convolutional projections, and one attention shared by gate and values.

namespace gated {

/// The options of shared chunk attention. The defaults are MossFormer2's.
struct SharedChunkAttentionConfig {
  Index channels = 0;                    ///< C
  Index value = 0;                       ///< E, width of u and v; 0 for 2·C
  Index query_key = 128;                 ///< S, width of queries and keys
  Index chunk = 256;                     ///< c, tokens per chunk
  Index kernel = 17;                     ///< K, number of taps of the projections' convolutions; odd unless causal
  NormForm norm = NormForm::scale_norm;  ///< norm of the projections' inputs
  double norm_eps = 1e-5;                ///< ε of the norms
  Index rotary_dimensions = 32;          ///< r: rotates the first r channels of queries and keys, all S if r > S; 0 for no RoPE
  double rotary_base = 10000.0;          ///< RoPE base; longest wavelength: about 2π · base
  bool token_shift = true;               ///< the first half of the channels is read from the previous token
  bool causal = false;                   ///< no token sees a later one
  bool centred = false;                  ///< convolutions read later tokens even if `causal`, as in the original; cannot stream

  Index values() const { return value > 0 ? value : (2 * Count(channels)).value(); }
  /// The options of a projection from `in` to `out` channels.
  ConvolutionalProjectionConfig projection(Index in, Index out) const {
    return {.channels = in, .out = out, .norm = norm, .norm_eps = norm_eps, .kernel = kernel, .causal = causal && !centred};
  }

  template <class C = SharedChunkAttentionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("value", &C::value), setting("query_key", &C::query_key),
                  setting("chunk", &C::chunk), setting("kernel", &C::kernel), setting("norm", &C::norm),
                  setting("norm_eps", &C::norm_eps), setting("rotary_dimensions", &C::rotary_dimensions),
                  setting("rotary_base", &C::rotary_base), setting("token_shift", &C::token_shift),
                  setting("causal", &C::causal), setting("centred", &C::centred));
  }
};

/// y = x + out((a_u ⊙ v) ⊙ σ(a_v ⊙ u)), where a_u and a_v are the outputs of the same mixed-chunk attention for the values u
/// and v (MossFormer2, arXiv:2312.11825, §2.2; FLASH, arXiv:2202.10447).
///
/// v, u, and the queries and keys are convolutional projections of x. The attention is that of MixedChunkAttention without a
/// relative bias: a_u = relu²(q kᵀ / c) u + Q M, with M as in LinearReduction::sum, and a_v likewise.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal` or with `centred`; ShapeError for wrong sizes.
/// Cost: 2·rows·(3·C·E + C·S + c·(S + 2·E) + 4·S·E + K·(2·E + S + C)) flops. Scratch: rows × (C + 5·E + 5·S) elements.
template <class T>
struct SharedChunkAttention : Layer<SharedChunkAttention<T>> {
  using Config = SharedChunkAttentionConfig;
  static constexpr const char* name = "SharedChunkAttention";
  static constexpr const char* architecture = "gated.SharedChunkAttention";

  Config config;
  ConvolutionalProjection<T> hidden;  ///< C → 2E: columns v, then u
  ConvolutionalProjection<T> qk;      ///< C → S
  OffsetScale<T> offset_scale;        ///< four rows: local query, global query, local key, global key
  RotaryEmbedding<T> rotary;
  ConvolutionalProjection<T> proj_out;  ///< E → C

  SharedChunkAttention() = default;
  explicit SharedChunkAttention(const Config& c) : config(c) {
    expect_chunk(name, c.chunk);
    require<ArgumentError>(c.channels > 0 && c.query_key > 0 && c.value >= 0, name, ": channels = ", c.channels,
                           " and query_key = ", c.query_key, " must be positive, and value = ", c.value,
                           " must not be negative.");
    require<ArgumentError>(c.rotary_dimensions >= 0, name, ": rotary_dimensions = ", c.rotary_dimensions,
                           " must not be negative. Set 0 for no RoPE.");
    hidden = ConvolutionalProjection<T>(c.projection(c.channels, (2 * Count(c.values())).value()));
    qk = ConvolutionalProjection<T>(c.projection(c.channels, c.query_key));
    offset_scale = OffsetScale<T>(4, c.query_key, true);
    rotary = RotaryEmbedding<T>(c.rotary_dimensions > 0 ? Rotary::interleaved : Rotary::none,
                                std::min(c.rotary_dimensions, c.query_key), c.rotary_base);
    proj_out = ConvolutionalProjection<T>(c.projection(c.values(), c.channels));
  }
  SharedChunkAttention(const Config& c, Random& random) : SharedChunkAttention(c) { this->initialize(random); }

  static constexpr auto fields() {
    using A = SharedChunkAttention;
    return Fields(field("hidden", &A::hidden), field("qk", &A::qk), field("offset_scale", &A::offset_scale),
                  field("rotary", &A::rotary), field("proj_out", &A::proj_out));
  }

  Contract contract() const {
    return {
        .in = config.channels,
        .out = config.channels,
        .sees = config.causal && !config.centred ? Sees::past : Sees::all,
        .unstreamable = config.causal && config.centred ? "The convolutions see later tokens. Set centred = false." : nullptr};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x) const {
    auto shifted = config.token_shift ? shift_first_half(run, x) : x;
    const auto vu = run(hidden, shifted);                             // rows × 2E
    const auto mixed = attend(run, run(qk, std::move(shifted)), vu);  // rows × 2E
    const Index e = config.values();
    const auto v = run.columns(vu, 0, e), u = run.columns(vu, e, e);
    auto passed = multiply(run, run.columns(mixed, e, e), v);  // a_u ⊙ v
    auto gate = activate(run, multiply(run, run.columns(mixed, 0, e), u), Activation::sigmoid);
    return run(proj_out, multiply(run, std::move(passed), std::move(gate)), {.residual = std::move(x)});
  }

 private:
  /// Applies the attention to all columns of `values`; queries and keys are scaled and shifted copies of z.
  template <class Run>
  auto attend(Run& run, MatrixOf<Run> z, const MatrixOf<Run>& values) const {
    auto local_q = run(offset_scale, z, Index{0}), global_q = run(offset_scale, z, Index{1});
    auto local_k = run(offset_scale, z, Index{2}), global_k = run(offset_scale, z, Index{3});
    auto rotated = rotary.rotate(run, std::move(local_q), std::move(global_q), std::move(local_k), std::move(global_k));
    ChunkInputs<Run> inputs{
        .local_q = rotated[0], .local_k = rotated[2], .global_q = rotated[1], .global_k = rotated[3], .values = values};
    const ChunkMixing<T> mixing{
        .chunk = config.chunk,
        .local = {.kernel = ScoreKernel::relu2, .scale = T{1} / static_cast<T>(config.chunk), .causal = config.causal}};
    return mix_chunks(run, std::move(inputs), mixing, Epilogue<Run>());
  }
};

}  // namespace gated
