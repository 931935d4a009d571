#pragma once

#include "gated/core/matrix.hpp"
#include "gated/core/words.hpp"

/// @file
/// The forms of normalisation: the options, without the loops.

namespace gated {

/// Which normalisation a layer has.
enum class NormForm {
  none,
  layer_norm,        ///< (x - mean) / √(var + eps) ⊙ weight + bias (Ba et al., arXiv:1607.06450)
  scale_norm,        ///< x / max(‖x‖/√C, eps) · g: lucidrains, mmpose
  scale_norm_rsqrt,  ///< x / √(mean(x²) + eps) · g: the FLASH paper, JunnYu
  rms,               ///< x / √(mean(x²) + eps), no parameters: GAU-α
  affine             ///< x ⊙ weight + bias, which normalises nothing: ResMLP (arXiv:2105.03404)
};

constexpr auto names_of(NormForm) {
  return words_for<NormForm>("none", "layer_norm", "scale_norm", "scale_norm_rsqrt", "rms", "affine");
}

/// A norm of any form: what it is, and its parameters, absent where the form has none.
template <class T>
struct NormParameters {
  NormForm form;
  double eps;
  const T* weight = nullptr;  ///< C, of the LayerNorm and the affine form
  const T* bias = nullptr;    ///< C, of the same
  const T* gain = nullptr;    ///< 1, of the ScaleNorms
};

/// What is known of a row before it is written: x̂ = (x - mean) · factor.
template <class T>
struct RowMoments {
  T mean;
  T factor;
  T varies{1};  ///< 0 where the factor is the same whatever the row
};

}  // namespace gated
