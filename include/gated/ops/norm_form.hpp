#pragma once

#include "gated/core/matrix.hpp"
#include "gated/core/words.hpp"

/// @file
/// The forms of normalization: options only, no loops.

namespace gated {

/// A form of normalization.
enum class NormForm {
  none,
  layer_norm,          ///< (x - mean) / √(var + eps) ⊙ weight + bias (Ba et al., arXiv:1607.06450)
  layer_norm_no_bias,  ///< layer_norm without the bias: ModernBERT
  rms_norm,            ///< x / √(mean(x²) + eps) ⊙ weight (Zhang and Sennrich, arXiv:1910.07467): Llama
  l2_norm,             ///< x / max(‖x‖, eps) · √C ⊙ weight: BS-RoFormer
  scale_norm,          ///< x / max(‖x‖/√C, eps) · g: lucidrains, mmpose
  scale_norm_rsqrt,    ///< x / √(mean(x²) + eps) · g: the FLASH paper, JunnYu
  rms,                 ///< x / √(mean(x²) + eps), no parameters: GAU-α
  affine               ///< x ⊙ weight + bias, no normalization: ResMLP (arXiv:2105.03404)
};

constexpr auto names_of(NormForm) {
  return words_for<NormForm>("none", "layer_norm", "layer_norm_no_bias", "rms_norm", "l2_norm", "scale_norm",
                             "scale_norm_rsqrt", "rms", "affine");
}

/// A norm's form and parameters. Parameters that the form lacks are nullptr.
template <class T>
struct NormParameters {
  NormForm form;
  double eps;
  const T* weight = nullptr;  ///< length C, if the form has a weight
  const T* bias = nullptr;    ///< length C, if the form has a bias
  const T* gain = nullptr;    ///< the scalar g of the ScaleNorms
};

/// Moments of a row: x̂ = (x - mean) · factor.
template <class T>
struct RowMoments {
  T mean;
  T factor;
  T varies{1};  ///< 0 if the factor does not depend on x (affine, clamped norms), otherwise 1
};

}  // namespace gated
