#pragma once

#include "gated/core/parameters.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/scale_norm.hpp"

/// @file
/// The norms that the gated attention models choose from.

namespace gated {

/// Which normalisation a layer has.
enum class NormForm {
  none,
  layer_norm,        ///< (x - mean) / √(var + eps) ⊙ weight + bias
  scale_norm,        ///< x / max(‖x‖/√C, eps) · g: lucidrains, mmpose
  scale_norm_rsqrt,  ///< x / √(mean(x²) + eps) · g: the FLASH paper, JunnYu
  rms                ///< x / √(mean(x²) + eps), no parameters: GAU-α
};

constexpr auto names_of(NormForm) {
  return std::array{std::pair{NormForm::none, std::string_view("none")},
                    std::pair{NormForm::layer_norm, std::string_view("layer_norm")},
                    std::pair{NormForm::scale_norm, std::string_view("scale_norm")},
                    std::pair{NormForm::scale_norm_rsqrt, std::string_view("scale_norm_rsqrt")},
                    std::pair{NormForm::rms, std::string_view("rms")}};
}

/// One of the norms of NormForm over the channels of each token.
///
/// Shapes: x and y are N × C; y may be x. Errors: ShapeError. Cost: O(N·C).
template <class T>
struct Norm {
  using Scalar = T;

  NormForm form = NormForm::none;
  Index channels = 0;
  double eps = 1e-5;
  Vector<T> weight;  ///< C, LayerNorm only
  Vector<T> bias;    ///< C, LayerNorm only
  Vector<T> gain;    ///< 1, the two ScaleNorms only

  Norm() = default;
  /// Weights and gain of 1, a bias of 0.
  Norm(NormForm form_, Index channels_, double eps_) : form(form_), channels(channels_), eps(eps_) {
    require<ArgumentError>(channels_ > 0 && eps_ >= 0, "Norm: channels = ", channels_, " and eps = ", eps_,
                           " must be positive.");
    const bool affine = form == NormForm::layer_norm;
    weight = Vector<T>::Ones(affine ? channels : 0);
    bias = Vector<T>::Zero(affine ? channels : 0);
    gain = Vector<T>::Ones(form == NormForm::scale_norm || form == NormForm::scale_norm_rsqrt ? 1 : 0);
  }

  static constexpr auto fields() {
    return std::tuple{field("weight", &Norm::weight, Role::norm), field("bias", &Norm::bias, Role::norm),
                      field("gain", &Norm::gain, Role::norm)};
  }

  /// y, which may be x.
  void forward(ConstView<T> x, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("Norm::forward", "x", x, "channels", channels);
    expect_shape<T>("Norm::forward", "y", y, x.rows(), x.cols());
    switch (form) {
      case NormForm::layer_norm:
        layer_norm<T>(x, weight, bias, eps, y, workspace);
        break;
      case NormForm::scale_norm:
        scale_norm<T>(x, gain[0], eps, ScaleNormForm::clamped, y, workspace);
        break;
      case NormForm::scale_norm_rsqrt:
        scale_norm<T>(x, gain[0], eps, ScaleNormForm::rsqrt, y, workspace);
        break;
      case NormForm::rms:
        scale_norm<T>(x, T{1}, eps, ScaleNormForm::rsqrt, y, workspace);
        break;
      case NormForm::none:
        if (y.data() != x.data()) {
          y = x;
        }
        break;
    }
    workspace.show(y);
  }
};

}  // namespace gated
