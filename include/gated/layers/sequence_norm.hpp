#pragma once

#include "gated/core/unset.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/token_norm.hpp"

/// @file
/// Norms over whole sequences, with a weight and a bias per channel.

namespace gated {

/// y = (x - mean) / √(var + eps) ⊙ weight + bias, with mean and variance over the tokens of each sequence, per channel
/// (InstanceNorm1d, arXiv:1607.08022) or over all channels together (GroupNorm with one group, arXiv:1803.08494).
///
/// Each output depends on the whole sequence, so part of a sequence cannot be normalized on its own.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed; ShapeError for wrong sizes.
/// Cost: three passes over x.
template <class T>
struct SequenceNorm : Layer<SequenceNorm<T>> {
  static constexpr const char* name = "SequenceNorm";

  TokenNormForm form = TokenNormForm::instance;
  double eps = 1e-5;
  Vector<T> weight, bias;  ///< C

  SequenceNorm() = default;
  /// weight = 1, bias = 0.
  SequenceNorm(Index channels, TokenNormForm form_, double eps_ = 1e-5) : form(form_), eps(eps_) {
    require<ArgumentError>(channels > 0 && eps_ >= 0, name, ": channels = ", channels, " must be positive, and eps = ", eps_,
                           " must not be negative.");
    require<ArgumentError>(form != TokenNormForm::layer_norm, name,
                           ": form = layer_norm has weights per token. Use TokenNorm.");
    weight = filled_vector<T>(T{1}, channels, name);
    bias = filled_vector<T>(T{0}, channels, name);
  }

  static constexpr auto fields() {
    return Fields(field("weight", &SequenceNorm::weight, Role::norm), field("bias", &SequenceNorm::bias, Role::norm));
  }

  Contract contract() const {
    return {
        .in = weight.size(), .out = weight.size(), .unstreamable = "A norm over the tokens needs all tokens of a sequence."};
  }

  auto apply(auto& run, auto x) const {
    return normalize_over_tokens(run, std::move(x), TokenNormParameters<T>{form, eps, &weight, &bias});
  }
};

}  // namespace gated
