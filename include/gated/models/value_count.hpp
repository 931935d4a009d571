#pragma once

#include <algorithm>

#include "gated/core/count.hpp"
#include "gated/layers/gated_cross_attention.hpp"
#include "gated/layers/transformer_block.hpp"
#include "gated/models/flash_language_model.hpp"
#include "gated/models/gau_encoder.hpp"
#include "gated/models/gmlp_image_classifier.hpp"
#include "gated/models/gmlp_language_model.hpp"

/// @file
/// How many numbers a configuration asks for, before a model is built from it.
///
/// A configuration from a file may ask for more memory than there is, or for sizes whose product overflows. value_count() of a
/// configuration is the number of values in all parameters of its model, constants included: what for_each_parameter() would
/// walk over. It allocates nothing, it takes any configuration, and it stays at Count::most where that is exceeded. Sizes that
/// the model's constructor refuses are not refused here.

namespace gated {

namespace detail {

inline Count linear_values(Count in, Count out, bool bias = true) { return out * in + (bias ? out : 0); }

inline Count norm_values(NormForm form, Count channels) {
  switch (form) {
    case NormForm::layer_norm:
      return 2 * channels;
    case NormForm::scale_norm:
    case NormForm::scale_norm_rsqrt:
      return 1;
    case NormForm::rms:
    case NormForm::none:
      break;
  }
  return 0;
}

inline Count spatial_values(SpatialForm form, Count heads, Index length) {
  const Count n = length;
  switch (form) {
    case SpatialForm::dense:
      return heads * n * n + heads * n;
    case SpatialForm::toeplitz:
      return length > 0 ? heads * (n + (length - 1)) + heads * n : 0;
    case SpatialForm::scaled_toeplitz:
      break;
  }
  return 4 * heads * n;
}

inline Count relative_bias_values(RelativeBiasForm form, Index length) {
  if (form == RelativeBiasForm::toeplitz) {
    return length > 0 ? Count(length) + (length - 1) : 0;
  }
  return form == RelativeBiasForm::t5 ? RelativeBias<float>::buckets : 0;
}

inline Count rotary_values(Rotary layout, Index dimensions, Index query_key) {
  return layout == Rotary::none ? 0 : (dimensions > 0 ? dimensions : query_key) / 2;
}

inline Count projection_values(const Count channels, Count value, Count query_key, bool bias) {
  return linear_values(channels, 2 * value + query_key, bias);  // in one product or in two
}

inline Count sinusoid_values(PositionForm form, Index channels, Count max_length) {
  switch (form) {
    case PositionForm::sinusoid:
      return Count(channels / 2) + 1;
    case PositionForm::sinusoid_table:
      return max_length * channels + 1;
    case PositionForm::none:
      break;
  }
  return 0;
}

inline Count head_values(const LanguageModelHeadConfig& c, Count channels, Count vocabulary) {
  return (c.dense ? linear_values(channels, channels) : 0) + norm_values(c.norm, channels) +
         (c.tied ? (c.bias ? vocabulary : 0) : linear_values(channels, vocabulary, c.bias));
}

}  // namespace detail

/// The numbers in a gated attention unit.
inline Count value_count(const GatedAttentionUnitConfig& c) {
  const Index out = c.out > 0 ? c.out : c.channels;
  return detail::norm_values(c.norm, c.norm_position == NormPosition::pre ? c.channels : out) +
         detail::projection_values(c.channels, c.value, c.query_key, c.bias) + (c.offset_bias ? 4 : 2) * Count(c.query_key) +
         detail::rotary_values(c.rotary, c.rotary_dimensions, c.query_key) +
         detail::relative_bias_values(c.relative_bias, c.max_length) + detail::linear_values(c.value, out, c.bias) +
         (c.residual == Residual::scaled ? out : 0);
}

/// The numbers in a FLASH layer.
inline Count value_count(const MixedChunkAttentionConfig& c) {
  return detail::norm_values(c.norm, c.channels) + detail::projection_values(c.channels, c.value, c.query_key, true) +
         8 * Count(c.query_key) + detail::rotary_values(c.rotary, c.rotary_dimensions, c.query_key) +
         detail::relative_bias_values(c.relative_bias, c.chunk) + detail::linear_values(c.value, c.channels);
}

/// The numbers in a gated cross-attention.
inline Count value_count(const GatedCrossAttentionConfig& c) {
  return detail::norm_values(c.norm, c.channels) + detail::linear_values(c.channels, Count(c.value) + c.query_key, c.bias) +
         detail::linear_values(c.key_channels > 0 ? c.key_channels : c.channels, c.query_key, c.bias) +
         detail::linear_values(c.value_channels > 0 ? c.value_channels : c.channels, c.value, c.bias) +
         detail::linear_values(c.value, c.channels, c.bias) + (c.residual == Residual::scaled ? c.channels : 0);
}

/// The numbers in a Transformer block.
inline Count value_count(const TransformerBlockConfig& c) {
  const Count channels = c.channels, hidden = c.feed_forward > 0 ? Count(c.feed_forward) : 4 * channels;
  return 4 * channels + detail::linear_values(channels, 3 * channels) +
         (c.attention == TransformerAttention::mixed_chunk ? 4 * channels : 0) + detail::linear_values(channels, channels) +
         detail::linear_values(channels, hidden) + detail::linear_values(hidden, channels);
}

/// The numbers in the trunk of a gMLP or aMLP.
inline Count value_count(const GmlpConfig& c) {
  const Count gated = c.gate == GateForm::split ? c.hidden / 2 : c.hidden;
  const Count block = 2 * Count(c.channels) + detail::linear_values(c.channels, c.hidden) +
                      (c.attention > 0 ? detail::linear_values(c.channels, 3 * Count(c.attention), c.attention_bias) +
                                             detail::linear_values(c.attention, gated)
                                       : 0) +
                      2 * gated + detail::spatial_values(c.spatial, c.heads, c.length) +
                      detail::linear_values(gated, c.channels);
  return c.depth * block;
}

/// The numbers in a FLASH trunk.
inline Count value_count(const FlashConfig& c) { return c.depth * value_count(c.layer); }

/// The numbers in a gMLP language model.
inline Count value_count(const GmlpLanguageModelConfig& c) {
  const Count channels = c.trunk.channels;
  const LanguageModelHeadConfig head{
      .norm = c.final_norm ? NormForm::layer_norm : NormForm::none, .tied = c.tied, .bias = !c.tied};
  return c.vocabulary * channels + value_count(c.trunk) + detail::head_values(head, channels, c.vocabulary);
}

/// The numbers in a gMLP image classifier.
inline Count value_count(const GmlpImageClassifierConfig& c) {
  const Count channels = c.trunk.channels;
  const bool class_token = c.readout == Readout::class_token;
  GmlpConfig trunk = c.trunk;
  if (c.patch.height > 0 && c.patch.width > 0) {
    const Count patches = Count(c.image.height / c.patch.height) * (c.image.width / c.patch.width);
    trunk.length = (patches + (class_token ? 1 : 0)).value();
  }
  return detail::linear_values(Count(c.image_channels) * c.patch.height * c.patch.width, channels) +
         (c.stem_norm ? 2 * channels : 0) + (class_token ? channels : 0) + value_count(trunk) + 2 * channels +
         (c.pre_logits ? detail::linear_values(channels, channels) : 0) +
         (c.classes > 0 ? detail::linear_values(channels, c.classes) : 0);
}

/// The numbers in a FLASH language model.
inline Count value_count(const FlashLanguageModelConfig& c) {
  const Index channels = c.trunk.layer.channels;
  return Count(c.vocabulary) * channels + detail::sinusoid_values(c.position, channels, c.max_length) + value_count(c.trunk) +
         (c.with_head ? detail::head_values(c.head, channels, c.vocabulary) : 0);
}

/// The numbers in an encoder of gated attention units.
inline Count value_count(const GauEncoderConfig& c) {
  const Index channels = c.layer.channels;
  return (Count(c.vocabulary) + c.token_types) * channels + detail::sinusoid_values(c.position, channels, c.max_length) +
         detail::norm_values(c.embedding_norm, channels) + c.depth * value_count(c.layer) +
         (c.with_head ? detail::head_values(c.head, channels, c.vocabulary) : 0);
}

}  // namespace gated
