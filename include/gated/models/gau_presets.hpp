#pragma once

#include <cmath>

#include "gated/layers/mixed_chunk_attention.hpp"
#include "gated/models/gau_encoder.hpp"

/// @file
/// The published forms of GAU and FLASH, by origin. The formulas differ from each other in a dozen places; a preset sets them
/// all.

namespace gated::gau_presets {

/// The pseudo-code of the FLASH paper (arXiv:2202.10447): fused projections, RoPE on halves, Toeplitz bias outside the scale,
/// A = relu²(q kᵀ / n + B).
inline GatedAttentionUnitConfig paper(Index channels, Index max_length, Index query_key = 128) {
  return {.channels = channels,
          .value = 2 * channels,
          .query_key = query_key,
          .max_length = max_length,
          .relative_bias = RelativeBiasForm::toeplitz,
          .rotary = Rotary::half};
}

/// FLASH-pytorch's GAU: separate projections, T5 bias inside the scale, A = relu²((q kᵀ + √C·B) / n), no rotary embedding.
inline GatedAttentionUnitConfig lucidrains(Index channels, Index query_key = 128, double expansion = 2.0) {
  return {.channels = channels,
          .value = static_cast<Index>(expansion * static_cast<double>(channels)),
          .query_key = query_key,
          .projection = ProjectionLayout::separate,
          .bias_inside_scale = true,
          .relative_bias = RelativeBiasForm::t5,
          .relative_bias_scale = std::sqrt(static_cast<double>(channels))};
}

/// JunnYu's FLASH-Quad: as the paper, but A = relu²(q kᵀ / L + B), and a mask takes away queries as well as keys.
inline GatedAttentionUnitConfig flash_quad_junnyu(Index channels, Index max_length = 512, Index query_key = 128) {
  GatedAttentionUnitConfig config = paper(channels, max_length, query_key);
  config.norm = NormForm::scale_norm_rsqrt;
  config.score_scale = ScoreScale::max_length;
  config.mask_mode = MaskMode::keys_and_queries;
  return config;
}

/// GAU-α (ZhuiyiTechnology): post-norm without parameters, no biases, interleaved RoPE, A = softmax(q kᵀ / √s · ln l /
/// ln 512) over the l unmasked keys.
inline GatedAttentionUnitConfig gau_alpha(Index channels, Index query_key = 128, bool attention_scale = true) {
  return {.channels = channels,
          .value = 2 * channels,
          .query_key = query_key,
          .bias = false,
          .offset_bias = false,
          .norm = NormForm::rms,
          .norm_position = NormPosition::post,
          .norm_eps = 1e-12,
          .kernel = ScoreKernel::softmax_plus,
          .score_scale = attention_scale ? ScoreScale::sqrt_width : ScoreScale::one,
          .rotary = Rotary::interleaved};
}

/// mmpose's RTMCCBlock, the gated attention unit in RTMPose's head: clamped ScaleNorm, no biases, A = relu²(q kᵀ / √s), a
/// learned scale on the shortcut.
inline GatedAttentionUnitConfig rtmcc(Index channels, Index query_key = 128) {
  return {.channels = channels,
          .value = 2 * channels,
          .query_key = query_key,
          .bias = false,
          .norm = NormForm::scale_norm,
          .score_scale = ScoreScale::sqrt_width,
          .bias_inside_scale = true,
          .residual = Residual::scaled};
}

/// What JunnYu's encoders share: words and two segments, normed as the layers are.
inline GauEncoderConfig junnyu_encoder(Index vocabulary, const GatedAttentionUnitConfig& layer, Index depth, bool with_head) {
  return {.vocabulary = vocabulary,
          .token_types = 2,
          .embedding_norm = layer.norm,
          .embedding_norm_eps = layer.norm_eps,
          .pad_token = 0,
          .depth = depth,
          .layer = layer,
          .with_head = with_head};
}

/// FLASHQuadModel around layers of flash_quad_junnyu(), with `with_head` FLASHQuadForMaskedLM: also a table of positions.
///
///     GauEncoder<float> model(gau_presets::flash_quad_encoder(12000, gau_presets::flash_quad_junnyu(768)));
inline GauEncoderConfig flash_quad_encoder(Index vocabulary, const GatedAttentionUnitConfig& layer, Index depth = 24,
                                           bool with_head = false) {
  GauEncoderConfig config = junnyu_encoder(vocabulary, layer, depth, with_head);
  config.position = PositionForm::sinusoid_table;
  config.max_length = layer.max_length;
  config.head = {.dense = true, .activation = layer.activation, .norm = layer.norm, .norm_eps = layer.norm_eps};
  return config;
}

/// GAUAlphaModel around layers of gau_alpha(), with `with_head` GAUAlphaForMaskedLM.
inline GauEncoderConfig gau_alpha_encoder(Index vocabulary, const GatedAttentionUnitConfig& layer, Index depth = 24,
                                          bool with_head = false) {
  GauEncoderConfig config = junnyu_encoder(vocabulary, layer, depth, with_head);
  config.head = {.norm = NormForm::none, .bias = false};
  return config;
}

}  // namespace gated::gau_presets

namespace gated::flash_presets {

/// FLASH-pytorch's FLASH as its FLASHTransformer sets it up: ScaleNorm, token shift, RoPE on the first 32 dimensions.
inline MixedChunkAttentionConfig lucidrains(Index channels, Index chunk = 256, bool causal = true, Index query_key = 128) {
  return {.channels = channels,
          .value = 2 * channels,
          .query_key = query_key,
          .chunk = chunk,
          .norm = NormForm::scale_norm,
          .rotary = Rotary::interleaved,
          .rotary_dimensions = std::min<Index>(32, query_key),
          .token_shift = true,
          .causal = causal};
}

/// JunnYu's FLASH: as lucidrains', for encoders and without token shift.
inline MixedChunkAttentionConfig junnyu(Index channels, Index chunk = 256, Index query_key = 128) {
  MixedChunkAttentionConfig config = lucidrains(channels, chunk, false, query_key);
  config.token_shift = false;
  return config;
}

/// The pseudo-code of the FLASH paper: fused projections, RoPE on halves of all dimensions, Toeplitz bias per chunk, the mean
/// of the chunks' KᵀV.
inline MixedChunkAttentionConfig paper(Index channels, Index chunk = 256, bool causal = true, Index query_key = 128) {
  return {.channels = channels,
          .value = 2 * channels,
          .query_key = query_key,
          .chunk = chunk,
          .projection = ProjectionLayout::fused,
          .norm = NormForm::scale_norm_rsqrt,
          .relative_bias = RelativeBiasForm::toeplitz,
          .offset_scale_order = OffsetScaleOrder::paper,
          .reduction = LinearReduction::mean,
          .rotary = Rotary::half,
          .causal = causal};
}

}  // namespace gated::flash_presets
