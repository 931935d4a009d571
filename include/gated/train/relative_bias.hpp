#pragma once

#include "gated/layers/relative_bias.hpp"
#include "gated/train/tape.hpp"

/// @file
/// Training of the relative bias.

namespace gated {

/// A relative bias by offset j - i: pointers to offset 0.
template <class T>
struct RelativeBiasTerms {
  const T* values = nullptr;  ///< nullptr for no bias
  T* gradient = nullptr;      ///< where its gradient is added up; nullptr if it is not trained
};

/// The bias of sequences of up to `length` tokens. What its readers add up by offset goes to the Toeplitz weight itself, or to
/// the T5 buckets, ∂table[bucket(-o)] += scale · ∂bias[o], in the order of the offsets.
template <class T>
RelativeBiasTerms<T> record(Tape<T>& tape, const RelativeBias<T>& layer, Index length) {
  const T* const values = layer.for_length(length, tape);
  T* const to = tape.gradient_of(layer.weight.data());
  if (values == nullptr || to == nullptr) {
    return {values, nullptr};
  }
  if (layer.form == RelativeBiasForm::toeplitz) {
    return {values, to + (values - layer.weight.data())};
  }
  T* const sums = tape.take(2 * length - 1);
  std::fill(sums, sums + 2 * length - 1, T{0});
  tape.push([&layer, length, to, sums] {
    t5_bias_back<T>(layer.weight.size(), layer.scale, layer.causal, layer.max_distance, length, sums, to);
  });
  return {values, sums + length - 1};
}

}  // namespace gated
