#pragma once

#include "gated/layers/gated_attention_unit.hpp"
#include "gated/train/attention.hpp"
#include "gated/train/gated_projection.hpp"
#include "gated/train/norm.hpp"
#include "gated/train/offset_scale.hpp"
#include "gated/train/relative_bias.hpp"
#include "gated/train/residual.hpp"
#include "gated/train/rotary_embedding.hpp"

/// @file
/// Training of the gated attention unit.

namespace gated {

/// GatedAttentionUnit::forward() with a `bias` (n × n, a constant, or of no size) added to the scores of every sequence, with
/// attention dropout on A and residual dropout behind proj_out. `mask` and `bias` must stay until the way back is over.
/// Errors: as forward(). Cost: about 2.5 times the forward's scores and twice its projections on the way back; rows × (3C + 6E
/// + 4S) numbers are kept.
template <class T>
Variable record(Tape<T>& tape, const GatedAttentionUnit<T>& layer, Variable x, const Sequences& sequences,
                const std::type_identity_t<ConstView<T>>& bias, Mask mask = {}) {
  layer.check(tape[x], sequences, mask);
  if (bias.size() > 0) {
    layer.check_bias(bias, sequences);
  }
  const GatedAttentionUnitConfig& config = layer.config;
  const bool pre = config.norm_position == NormPosition::pre;
  const Index kept = tape.keep(sequences);
  const Variable input = pre ? record<T>(tape.at("norm"), layer.norm, x) : x;
  const GatedVariables parts = record<T>(tape.at("projection"), layer.projection, input);
  const Variable q = record<T>(tape.at("offset_scale"), layer.offset_scale, 0, parts.z);
  const Variable k = record<T>(tape.at("offset_scale"), layer.offset_scale, 1, parts.z);
  rotate(tape, layer.rotary, kept, q, k);

  const RelativeBiasTerms<T> relative = record(tape, layer.relative_bias, sequences.longest());
  const typename GatedAttentionUnit<T>::ScoreTerms terms{.mask = mask,
                                                         .visible = mask_values(mask, tape),
                                                         .relative = relative.values,
                                                         .bias = bias.size() > 0 ? bias.data() : nullptr,
                                                         .bias_stride = bias.outerStride()};
  const AttentionInputs<T> inputs{
      .q = q, .k = k, .v = parts.v, .queries = kept, .keys = kept, .relative_gradient = relative.gradient};
  const Variable attended =
      attend(tape, inputs, [&tape, &layer, kept, terms](Index b) { return layer.scoring(tape.sequences(kept), b, terms); });
  const Variable gated = multiply(tape, attended, parts.u);
  const Variable y = add_residual(tape, layer.proj_out, config.residual, layer.residual_scale, gated, x);
  return pre ? y : record<T>(tape.at("norm"), layer.norm, y);
}

/// The same without another bias.
template <class T>
Variable record(Tape<T>& tape, const GatedAttentionUnit<T>& layer, Variable x, const Sequences& sequences, Mask mask = {}) {
  const Matrix<T> none;
  return record(tape, layer, x, sequences, none, mask);
}

/// A temporary bias would be gone before the way back.
template <class T, Fleeting<T> M>
Variable record(Tape<T>&, const GatedAttentionUnit<T>&, Variable, const Sequences&, M&&, Mask = {}) = delete;

}  // namespace gated
