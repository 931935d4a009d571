#pragma once

#include <cmath>

#include "gated/layers/mixed_chunk_attention.hpp"
#include "gated/models/flash.hpp"

/// @file
/// The published variants of GAU and FLASH, named after their origins. They differ in a dozen options; a preset sets them all.

namespace gated::gau_presets {

/// The sizes of a published gated attention unit. Presets ignore the sizes they do not use.
struct Sizes {
  Index channels = 0;      ///< C
  Index max_length = 512;  ///< L, maximum length, for Toeplitz biases and ScoreScale::max_length
  Index query_key = 128;   ///< S
  double expansion = 2;    ///< E / C

  Index value() const { return static_cast<Index>(expansion * static_cast<double>(channels)); }
};

/// GAU as in the pseudo-code of the FLASH paper (arXiv:2202.10447): fused projections, half-split RoPE, a Toeplitz bias
/// added after scaling, A = relu²(q kᵀ / n + B).
inline GatedAttentionUnitConfig paper(const Sizes& sizes) {
  return {.channels = sizes.channels,
          .value = sizes.value(),
          .query_key = sizes.query_key,
          .max_length = sizes.max_length,
          .relative_bias = RelativeBiasForm::toeplitz,
          .rotary = Rotary::half};
}

/// FLASH-pytorch's GAU: separate projections, a T5 bias added before scaling, A = relu²((q kᵀ + √C·B) / n), no RoPE.
inline GatedAttentionUnitConfig lucidrains(const Sizes& sizes) {
  return {.channels = sizes.channels,
          .value = sizes.value(),
          .query_key = sizes.query_key,
          .projection = ProjectionLayout::separate,
          .bias_inside_scale = true,
          .relative_bias = RelativeBiasForm::t5,
          .relative_bias_scale = std::sqrt(static_cast<double>(sizes.channels))};
}

/// JunnYu's FLASH-Quad: like paper(), but with ScaleNorm, A = relu²(q kᵀ / L + B), and a mask that hides queries as well as
/// keys.
inline GatedAttentionUnitConfig flash_quad_junnyu(const Sizes& sizes) {
  GatedAttentionUnitConfig config = paper(sizes);
  config.norm = NormForm::scale_norm_rsqrt;
  config.score_scale = ScoreScale::max_length;
  config.mask_mode = MaskMode::keys_and_queries;
  return config;
}

/// GAU-α (ZhuiyiTechnology): post-norm without parameters, no biases, interleaved RoPE, A = softmax(q kᵀ / √s · ln l /
/// ln 512) over the l unmasked keys. For weights trained with attention_scale = False, set score_scale = one.
inline GatedAttentionUnitConfig gau_alpha(const Sizes& sizes) {
  return {.channels = sizes.channels,
          .value = sizes.value(),
          .query_key = sizes.query_key,
          .bias = false,
          .offset_bias = false,
          .norm = NormForm::rms,
          .norm_position = NormPosition::post,
          .norm_eps = 1e-12,
          .kernel = ScoreKernel::softmax_plus,
          .score_scale = ScoreScale::sqrt_width,
          .rotary = Rotary::interleaved};
}

/// mmpose's RTMCCBlock, the gated attention unit in RTMPose's head: clamped ScaleNorm, projections without biases,
/// A = relu²(q kᵀ / √s), a learned scale on the residual.
inline GatedAttentionUnitConfig rtmcc(const Sizes& sizes) {
  return {.channels = sizes.channels,
          .value = sizes.value(),
          .query_key = sizes.query_key,
          .bias = false,
          .norm = NormForm::scale_norm,
          .score_scale = ScoreScale::sqrt_width,
          .bias_inside_scale = true,
          .residual = Residual::scaled};
}

/// The sizes of an encoder and its head.
struct Encoder {
  Index vocabulary = 0;
  Index depth = 24;           ///< layers
  bool masked_words = false;  ///< output masked-LM logits instead of hidden states
};

/// The options common to JunnYu's encoders: word embeddings plus two segment embeddings, then a norm as in `layer`.
inline GauEncoderConfig junnyu_encoder(const Encoder& wanted, const GatedAttentionUnitConfig& layer) {
  return {.vocabulary = wanted.vocabulary,
          .token_types = 2,
          .embedding_norm = layer.norm,
          .embedding_norm_eps = layer.norm_eps,
          .pad_token = 0,
          .head = {.form = HeadForm::none},
          .trunk = {.depth = wanted.depth, .block = layer}};
}

/// FLASHQuadModel, or FLASHQuadForMaskedLM if `masked_words`, with layers of flash_quad_junnyu() and sinusoidal positions.
///
///     GauEncoder<float> model(gau_presets::flash_quad_encoder({.vocabulary = 12000},
///                                                             gau_presets::flash_quad_junnyu({.channels = 768})));
inline GauEncoderConfig flash_quad_encoder(const Encoder& wanted, const GatedAttentionUnitConfig& layer) {
  GauEncoderConfig config = junnyu_encoder(wanted, layer);
  config.position = PositionForm::sinusoid_table;
  config.max_length = layer.max_length;
  if (wanted.masked_words) {
    config.head = {.dense = true, .activation = layer.activation, .norm = layer.norm, .norm_eps = layer.norm_eps, .bias = true};
  }
  return config;
}

/// GAUAlphaModel, or GAUAlphaForMaskedLM if `masked_words`, with layers of gau_alpha().
inline GauEncoderConfig gau_alpha_encoder(const Encoder& wanted, const GatedAttentionUnitConfig& layer) {
  GauEncoderConfig config = junnyu_encoder(wanted, layer);
  if (wanted.masked_words) {
    config.head = {.norm = NormForm::none};
  }
  return config;
}

}  // namespace gated::gau_presets

namespace gated::flash_presets {

/// The sizes of a published FLASH layer.
struct Sizes {
  Index channels = 0;     ///< C
  Index query_key = 128;  ///< S
  Index chunk = 256;      ///< c
  bool causal = true;     ///< no output depends on a later token
};

/// The layer of FLASHTransformer in lucidrains' FLASH-pytorch: ScaleNorm, token shift, RoPE on the first 32 dimensions.
inline MixedChunkAttentionConfig lucidrains(const Sizes& sizes) {
  return {.channels = sizes.channels,
          .value = 2 * sizes.channels,
          .query_key = sizes.query_key,
          .chunk = sizes.chunk,
          .norm = NormForm::scale_norm,
          .rotary = Rotary::interleaved,
          .rotary_dimensions = std::min<Index>(32, sizes.query_key),
          .token_shift = true,
          .causal = sizes.causal};
}

/// JunnYu's FLASH: like lucidrains(), but not causal and without token shift.
inline MixedChunkAttentionConfig junnyu(const Sizes& sizes) {
  MixedChunkAttentionConfig config = lucidrains(sizes);
  config.causal = false;
  config.token_shift = false;
  return config;
}

/// FLASH as in the pseudo-code of its paper: fused projections, half-split RoPE on all dimensions, a Toeplitz bias per
/// chunk, KᵀV averaged over the chunks.
inline MixedChunkAttentionConfig paper(const Sizes& sizes) {
  return {.channels = sizes.channels,
          .value = 2 * sizes.channels,
          .query_key = sizes.query_key,
          .chunk = sizes.chunk,
          .projection = ProjectionLayout::fused,
          .norm = NormForm::scale_norm_rsqrt,
          .relative_bias = RelativeBiasForm::toeplitz,
          .offset_scale_order = OffsetScaleOrder::paper,
          .reduction = LinearReduction::mean,
          .rotary = Rotary::half,
          .causal = sizes.causal};
}

}  // namespace gated::flash_presets
