#pragma once

#include <cmath>

#include "gated/core/sequences.hpp"
#include "gated/layers/linear.hpp"
#include "gated/ops/scores.hpp"

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
/// Shapes: x is rows × C, y is rows × out. With `causal`, token i attends to tokens j ≤ i. An observer sees the attention map
/// of each sequence (N × N) under `….attention_map.b`. Errors: ShapeError. Cost: 2·rows·a·(3C + out) + 4·N²·a flops a sequence;
/// scratch rows × 4a + 256·N.
template <class T>
struct TinyAttention {
  using Scalar = T;

  TinyAttentionConfig config;
  Linear<T> qkv;  ///< 3a × C: the rows of q, then k, then v
  Linear<T> proj_out;

  TinyAttention() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit TinyAttention(const TinyAttentionConfig& c)
      : config(c), qkv(c.channels, 3 * c.width, c.bias), proj_out(c.width, c.out) {}

  static constexpr auto fields() {
    return std::tuple{field("qkv", &TinyAttention::qkv), field("proj_out", &TinyAttention::proj_out)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    qkv.initialize(random);
    proj_out.initialize(random);
  }

  /// How each sequence is scored.
  Scoring<T> scoring() const {
    return {.kernel = ScoreKernel::softmax, .scale = T{1} / std::sqrt(static_cast<T>(config.width)), .causal = config.causal};
  }

  /// y for all sequences at once.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    sequences.expect_total("TinyAttention::forward", x.rows());
    const auto frame = workspace.frame();
    const Index a = config.width;
    MatrixMap<T> projected = workspace.matrix(x.rows(), 3 * a);
    MatrixMap<T> attended = workspace.matrix(x.rows(), a);
    qkv.forward(x, projected, workspace.at("qkv"));
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b), length = sequences.length(b);
      const auto rows = projected.middleRows(offset, length);
      attend(rows.leftCols(a), rows.middleCols(a, a), rows.rightCols(a), 0, attended.middleRows(offset, length),
             workspace.at("attention_map", b));
    }
    proj_out.forward(attended, y, workspace.at("proj_out"));
    workspace.show(y);
  }

  /// The same for the tokens from position `first` on of one causal sequence. `keys` and `values` (N × a) hold the earlier
  /// tokens' and receive those of x. Shapes: x and y as in forward(), first + x.rows() ≤ N. Errors: ShapeError; ArgumentError
  /// unless it is causal.
  void extend(ConstView<T> x, Index first, View<T> keys, View<T> values, View<T> y, Workspace<T>& workspace) const {
    constexpr const char* where = "TinyAttention::extend";
    const Index a = config.width, seen = first + x.rows();
    require<ArgumentError>(config.causal, where, ": the attention is not causal, so a token's output depends on later tokens.");
    expect_columns<T>(where, "keys", keys, "width", a);
    expect_shape<T>(where, "values", values, keys.rows(), a);
    expect_positions(where, x.rows(), first, keys.rows(), "that keys has rows for.");
    const auto frame = workspace.frame();
    MatrixMap<T> projected = workspace.matrix(x.rows(), 3 * a);
    MatrixMap<T> attended = workspace.matrix(x.rows(), a);
    qkv.forward(x, projected, workspace.at("qkv"));
    keys.middleRows(first, x.rows()) = projected.middleCols(a, a);
    values.middleRows(first, x.rows()) = projected.rightCols(a);
    attend(projected.leftCols(a), keys.topRows(seen), values.topRows(seen), first, attended, workspace.at("attention_map", 0));
    proj_out.forward(attended, y, workspace.at("proj_out"));
    workspace.show(y);
  }

 private:
  void attend(ConstView<T> queries, ConstView<T> keys, ConstView<T> values, Index first, View<T> y,
              Workspace<T>& workspace) const {
    gated::attend<T>(queries, keys, values, first, scoring(), y, workspace);
  }
};

}  // namespace gated
