#pragma once

#include <cmath>

#include "gated/layers/linear.hpp"
#include "gated/ops/attention.hpp"

/// @file
/// The tiny attention of aMLP.

namespace gated {

/// The options of a tiny attention.
struct TinyAttentionConfig {
  Index channels = 0;   ///< C, of the input
  Index width = 64;     ///< a, of query, key and value
  Index out = 0;        ///< of the output: the gated channels that it is added to
  bool causal = false;  ///< tokens see no later ones
  bool bias = false;    ///< of query, key and value; lucidrains has none, the paper's parameter counts imply it
};

/// y = softmax(q kᵀ / √a) v W_out + b with (q, k, v) = x W_qkv: one head (arXiv:2105.08050, §4.3).
///
/// With `causal`, token i attends to tokens j ≤ i. An observer sees the attention map of each sequence (N × N) under
/// `….weights.b`.
/// Shapes: x is rows × C, y is rows × out.
/// Errors: ShapeError.
/// Cost: 2·rows·a·(3C + out) + 4·N²·a flops per sequence; scratch rows × 4a + 256·N.
template <class T>
struct TinyAttention : SequenceLayer<TinyAttention<T>, T> {
  using Scalar = T;
  static constexpr const char* name = "TinyAttention";

  TinyAttentionConfig config;
  Linear<T> qkv;  ///< 3a × C: the rows of q, then k, then v
  Linear<T> proj_out;

  TinyAttention() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit TinyAttention(const TinyAttentionConfig& c)
      : config(c), qkv(c.channels, (3 * Count(c.width)).value(), c.bias), proj_out(c.width, c.out) {}
  /// The values in one of this configuration.
  static Count value_count(const TinyAttentionConfig& c) {
    return Linear<T>::value_count(c.channels, 3 * Count(c.width), c.bias) + Linear<T>::value_count(c.width, c.out);
  }

  static constexpr auto fields() {
    return std::tuple{field("qkv", &TinyAttention::qkv), field("proj_out", &TinyAttention::proj_out)};
  }

  Index in() const { return config.channels; }
  Index out() const { return config.out; }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const Index a = config.width;
    if constexpr (Run::streams) {
      require<ArgumentError>(config.causal, run.where(),
                             ": the attention is not causal, so a token's output depends on later tokens and cannot be "
                             "streamed. Build it with causal = true.");
    }
    const auto projected = run(qkv, x);  // N × 3a
    const AttentionInputs<Run> inputs{
        .q = run.columns(projected, 0, a), .k = run.columns(projected, a, a), .v = run.columns(projected, 2 * a, a)};
    const Scoring<T> scoring{
        .kernel = ScoreKernel::softmax, .scale = T{1} / std::sqrt(static_cast<T>(a)), .causal = config.causal};
    const auto attended =
        attend(run, inputs, [scoring](const Sequences&, Index) { return scoring; }, Fused<Run>(), {});  // N × a
    return run(proj_out, attended, {}, to);                                                             // N × out
  }
};

}  // namespace gated
