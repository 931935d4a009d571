#pragma once

#include "gated/core/words.hpp"
#include "gated/layers/gated_projection.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/norm_position.hpp"
#include "gated/layers/relative_bias.hpp"
#include "gated/layers/residual.hpp"
#include "gated/layers/rotary_embedding.hpp"
#include "gated/ops/scores.hpp"

/// @file
/// The options of gated attention units (GAU), for all published variants.

namespace gated {

/// The divisor of the scores q kᵀ. Implementations differ; a checkpoint works only with the divisor it was trained with.
enum class ScoreScale {
  length,      ///< n, the sequence length including masked tokens: FLASH-pytorch, the FLASH paper; cannot stream
  max_length,  ///< L, the model's maximum length: JunnYu's FLASH-Quad
  sqrt_width,  ///< √S: GAU-α with attention_scale, mmpose
  one          ///< scores are not scaled
};

constexpr auto names_of(ScoreScale) { return words_for<ScoreScale>("length", "max_length", "sqrt_width", "one"); }

/// Effect of a mask.
enum class MaskMode {
  keys,             ///< masked tokens are not attended to, but attend to others: most implementations
  keys_and_queries  ///< masked tokens neither attend nor are attended to: JunnYu's FLASH-Quad
};

constexpr auto names_of(MaskMode) { return words_for<MaskMode>("keys", "keys_and_queries"); }

/// The options of a GAU. The defaults are the FLASH paper's; models/gau_presets.hpp has a preset per published variant.
struct GatedAttentionUnitConfig {
  Index channels = 0;                                     ///< C (d in the papers)
  Index value = 0;                                        ///< E (e in the papers), width of u and v, usually 2·C
  Index query_key = 128;                                  ///< S (s in the papers), width of queries and keys
  Index out = 0;                                          ///< channels of the output; 0 for C
  Index max_length = 0;                                   ///< L, for ScoreScale::max_length and Toeplitz biases
  ProjectionLayout projection = ProjectionLayout::fused;  ///< weight layout for u, v and z; must match the checkpoint
  bool bias = true;                                       ///< adds biases to the projections
  bool offset_bias = true;                                ///< adds a shift β to queries and keys
  Activation activation = Activation::silu;               ///< activation of u, v and z
  NormForm norm = NormForm::layer_norm;                   ///< type of the norm
  NormPosition norm_position = NormPosition::pre;         ///< normalizes the input, the residual sum, or the branch's output
  double norm_eps = 1e-5;                                 ///< ε of the norm
  ScoreKernel kernel = ScoreKernel::relu2;                ///< maps scores to attention weights
  ScoreScale score_scale = ScoreScale::length;            ///< the divisor of the scores
  bool divide_by_keys = false;     ///< divides the attention weights by the number of unmasked keys: GAU-α's squared_relu
  bool bias_inside_scale = false;  ///< (q kᵀ + B) · scale rather than q kᵀ · scale + B
  RelativeBiasForm relative_bias = RelativeBiasForm::none;  ///< form of the relative bias B
  double relative_bias_scale = 1.0;                         ///< scale of a T5 bias; √C in FLASH-pytorch's GAU
  Rotary rotary = Rotary::none;                             ///< RoPE on queries and keys
  Index rotary_dimensions = 0;                              ///< r, number of rotated channels; 0 for S
  double rotary_base = 10000.0;                             ///< RoPE base; longest wavelength: about 2π · base
  MaskMode mask_mode = MaskMode::keys;                      ///< effect of a mask
  bool causal = false;                                      ///< no token sees a later one
  Residual residual = Residual::plain;                      ///< the residual connection

  Index output() const { return out > 0 ? out : channels; }
  /// Channels of the norm: those of the input if pre-norm, otherwise those of the output.
  Index normed() const { return norm_position == NormPosition::pre ? channels : output(); }
  Index rotated() const { return rotary_dimensions > 0 ? rotary_dimensions : query_key; }
  GatedProjectionConfig projections() const {
    return {.channels = channels,
            .value = value,
            .query_key = query_key,
            .layout = projection,
            .bias = bias,
            .activation = activation};
  }

  template <class C = GatedAttentionUnitConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("value", &C::value), setting("query_key", &C::query_key),
                  setting("out", &C::out), setting("max_length", &C::max_length), setting("projection", &C::projection),
                  setting("bias", &C::bias), setting("offset_bias", &C::offset_bias), setting("activation", &C::activation),
                  setting("norm", &C::norm), setting("norm_position", &C::norm_position), setting("norm_eps", &C::norm_eps),
                  setting("kernel", &C::kernel), setting("score_scale", &C::score_scale),
                  setting("divide_by_keys", &C::divide_by_keys), setting("bias_inside_scale", &C::bias_inside_scale),
                  setting("relative_bias", &C::relative_bias), setting("relative_bias_scale", &C::relative_bias_scale),
                  setting("rotary", &C::rotary), setting("rotary_dimensions", &C::rotary_dimensions),
                  setting("rotary_base", &C::rotary_base), setting("mask_mode", &C::mask_mode), setting("causal", &C::causal),
                  setting("residual", &C::residual));
  }
};

}  // namespace gated
