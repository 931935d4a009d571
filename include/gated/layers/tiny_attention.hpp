#pragma once

#include <cmath>

#include "gated/layers/linear.hpp"
#include "gated/ops/attention.hpp"

/// @file
/// The tiny attention of aMLP.

namespace gated {

/// The options of tiny attention.
struct TinyAttentionConfig {
  Index channels = 0;   ///< C, channels of the input
  Index width = 64;     ///< a, width of query, key and value
  Index out = 0;        ///< channels of the output, which is added to the gate
  bool causal = false;  ///< no token sees a later one
  bool bias = false;    ///< adds a bias to q, k and v, as the paper's parameter counts imply; g-mlp-pytorch has none
};

/// y = softmax(q kᵀ / √a) v W_out + b with (q, k, v) = x W_qkv: one head (arXiv:2105.08050, §4.3).
///
/// With `causal`, token i attends to tokens j ≤ i. Hooks receive the N × N attention map of sequence b under the layer's path
/// plus `.weights.b`.
/// Shapes: x is rows × C, y is rows × out.
/// Errors: ShapeError for wrong sizes.
/// Cost: 2·rows·a·(3C + out) flops, plus 4·N²·a per sequence of N tokens. Scratch: rows × 4a + 256·N elements.
template <class T>
struct TinyAttention : Layer<TinyAttention<T>> {
  static constexpr const char* name = "TinyAttention";

  TinyAttentionConfig config;
  Linear<T> qkv;  ///< 3a × C: the rows of q, then k, then v
  Linear<T> proj_out;

  TinyAttention() = default;
  explicit TinyAttention(const TinyAttentionConfig& c)
      : config(c), qkv(c.channels, (3 * Count(c.width)).value(), c.bias), proj_out(c.width, c.out) {}

  static constexpr auto fields() {
    return Fields(field("qkv", &TinyAttention::qkv), field("proj_out", &TinyAttention::proj_out));
  }

  Contract contract() const {
    return {.in = config.channels, .out = config.out, .sees = config.causal ? Sees::past : Sees::all};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, Epilogue<Run> then) const {
    const Index a = config.width;
    const auto [q, k, v] = run.split(run(qkv, std::move(x)), a, a, a);  // N × a
    const Scoring<T> scoring{
        .kernel = ScoreKernel::softmax, .scale = T{1} / std::sqrt(static_cast<T>(a)), .causal = config.causal};
    const auto scoring_of = [scoring](const Sequences&, Index) { return scoring; };
    const auto attended = attend(run, AttentionInputs<Run>{.q = q, .k = k, .v = v}, scoring_of, Epilogue<Run>());  // N × a
    return run(proj_out, attended, std::move(then));                                                               // N × out
  }
};

}  // namespace gated
