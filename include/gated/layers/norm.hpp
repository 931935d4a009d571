#pragma once

#include "gated/core/settings.hpp"
#include "gated/core/unset.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/norm.hpp"

/// @file
/// Norms with learned parameters.

namespace gated {

/// A norm over the channels of each token, of a type listed in NormForm; by default LayerNorm.
///
/// With several heads, each group of C adjacent channels is normalized separately, with the same parameters.
/// Shapes: x and y are N × heads·C.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes.
/// Cost: O(N·C).
template <class T>
struct Norm : Layer<Norm<T>> {
  static constexpr const char* name = "Norm";

  NormForm form = NormForm::none;
  Index channels = 0;  ///< C
  Index heads = 1;
  double eps = 1e-5;
  Vector<T> weight;  ///< C, or empty if the form has no weight
  Vector<T> bias;    ///< C, or empty if the form has no bias
  Vector<T> gain;    ///< 1 element for the two ScaleNorms, otherwise empty

  Norm() = default;
  /// weight = gain = 1, bias = 0.
  explicit Norm(Index channels_, double eps_ = 1e-5, NormForm form_ = NormForm::layer_norm, Index heads_ = 1)
      : form(form_), channels(channels_), heads(heads_), eps(eps_) {
    require<ArgumentError>(channels_ > 0 && eps_ >= 0, "Norm: channels = ", channels_, " must be positive, and eps = ", eps_,
                           " must not be negative.");
    weight = filled_vector<T>(T{1}, has_weight(form) ? channels : 0, name);
    bias = filled_vector<T>(T{0}, has_bias(form) ? channels : 0, name);
    gain = filled_vector<T>(T{1}, has_gain(form) ? 1 : 0, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &Norm::weight, Role::norm), field("bias", &Norm::bias, Role::norm),
                  field("gain", &Norm::gain, Role::norm));
  }

  /// The arguments of normalize().
  NormParameters<T> parameters() const { return {form, eps, weight.data(), bias.data(), gain.data()}; }

  Contract contract() const {
    const Index width = form == NormForm::none && channels == 0 ? Contract::any : channels * heads;
    return {.in = width, .out = width, .sees = Sees::itself};
  }

  auto apply(auto& run, auto x) const {
    expect_whole(name, weight.size() == (has_weight(form) ? channels : 0) && gain.size() == (has_gain(form) ? 1 : 0));
    return normalize(run, std::move(x), parameters(), heads);
  }

 private:
  static constexpr bool has_bias(NormForm form) { return form == NormForm::layer_norm || form == NormForm::affine; }
  static constexpr bool has_weight(NormForm form) {
    return has_bias(form) || form == NormForm::layer_norm_no_bias || form == NormForm::rms_norm || form == NormForm::l2_norm;
  }
  static constexpr bool has_gain(NormForm form) { return form == NormForm::scale_norm || form == NormForm::scale_norm_rsqrt; }
};

}  // namespace gated
