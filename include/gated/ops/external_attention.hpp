#pragma once

#include "gated/core/ordered_sum.hpp"
#include "gated/core/stream.hpp"
#include "gated/ops/attention.hpp"

/// @file
/// External attention: attention to learned memories, as an op with its derivative.

namespace gated {

/// The memories, shared by all heads. Non-owning.
template <class T>
struct ExternalMemory {
  Index heads = 1;
  const Matrix<T>* key = nullptr;         ///< K × w, for K memories and heads of width w
  const Vector<T>* key_bias = nullptr;    ///< K, or empty
  const Matrix<T>* value = nullptr;       ///< w × K
  const Vector<T>* value_bias = nullptr;  ///< w, or empty
};

namespace detail::external_memory {

/// Added to each token's sum over the memories before the division by this sum.
inline constexpr double eps = 1e-9;

/// `weights` ← softmax(S)ᵀ (K × n); `factors` ← 1 / (eps + sum over the memories) for each token. Their product is Aᵀ.
template <class T>
void weigh(const ExternalMemory<T>& memory, const MatrixView<const T>& u, const T* visible, View<T> weights, T* factors,
           Workspace<T>& workspace) {
  matmul(*memory.key, transposed(u), weights, workspace, {.row_bias = memory.key_bias->data()});
  softmax<T>(weights, workspace, {.visible_columns = visible});
  std::fill(factors, factors + u.rows(), T{0});
  add_column_sums<T>(weights, factors, workspace);
  std::transform(factors, factors + u.rows(), factors, [](T sum) { return T{1} / (static_cast<T>(eps) + sum); });
}

/// y = A M_vᵀ + b_v for one head of one sequence.
template <class T>
void attend(const ExternalMemory<T>& memory, const MatrixView<const T>& u, const T* visible, const MatrixView<T>& y,
            Workspace<T>& workspace, const WeightsWatcher<T>& watch) {
  const auto frame = workspace.frame();
  MatrixMap<T> weights = workspace.matrix(memory.key->rows(), u.rows());
  T* const factors = workspace.take(u.rows());
  weigh<T>(memory, u, visible, weights, factors, workspace);
  assign<T>(weights, workspace, reader<T>(weights) * per_channel<T>(factors));
  if (watch) {
    watch(0, weights);
  }
  matmul(transposed(weights), transposed(*memory.value), y, workspace, {.bias = memory.value_bias->data()});
}

/// Backward pass of attend(). Adds to `du`, unless it is empty, and to the gradients of the parameters.
template <class Back, class T>
void attend_backward(Back& back, const ExternalMemory<T>& memory, const MatrixView<const T>& u, const T* visible,
                     const MatrixView<const T>& dy, const MatrixView<T>& du) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const Index memories = memory.key->rows(), tokens = u.rows();
  MatrixMap<T> shares = workspace.matrix(memories, tokens), weights = workspace.matrix(memories, tokens);
  MatrixMap<T> gradient = workspace.matrix(memories, tokens);
  T *const factors = workspace.take(tokens), *const means = workspace.take(tokens);
  weigh<T>(memory, u, visible, shares, factors, workspace);
  assign<T>(weights, workspace, reader<T>(shares) * per_channel<T>(factors));
  add_parameter_product(back, *memory.value, transposed(dy), transposed(weights));
  if (T* const to = back.gradient_of(memory.value_bias->data())) {
    add_column_sums<T>(dy, to, workspace);
  }
  matmul(transposed(*memory.value), transposed(dy), gradient, workspace);
  // With the unnormalized weights s = `shares` and A = s · factor per token: ∂s = factor · (∂A - Σ_k A_k ∂A_k).
  std::fill(means, means + tokens, T{0});
  add_column_sums<T>(memories, tokens, means, workspace, reader<T>(weights) * reader<T>(gradient));
  assign<T>(gradient, workspace, (reader<T>(gradient) - per_channel<T>(means)) * per_channel<T>(factors));
  scores_backward<T>(0, Scoring<T>{.kernel = ScoreKernel::softmax}, shares, gradient, workspace);
  add_parameter_product(back, *memory.key, gradient, u);
  if (T* const to = back.gradient_of(memory.key_bias->data())) {
    for (Index k = 0; k < memories; ++k) {
      to[k] += ordered_sum(gradient.row(k));
    }
  }
  if (du) {
    matmul(transposed(gradient), *memory.key, du, workspace, {.added = du});
  }
}

}  // namespace detail::external_memory

/// y = A M_vᵀ + b_v for each sequence and head, with learned memories M_k and M_v (arXiv:2105.02358):
///
///     S = u M_kᵀ + b_k        A = softmax(S) over the tokens, divided by (1e-9 + its sum over the memories)
///
/// Each output depends on all tokens of its sequence. `visible` has a 0 or 1 per token, or is nullptr. Tokens with 0 are left
/// out of the softmax; their output is b_v. A hook sees Aᵀ, memories × tokens, as "weights.b", or "weights.b.head" if there are
/// several heads. b_k cancels in the softmax: it has no effect, and its gradient is rounding error. The matrices of `memory`,
/// and `visible`, must outlive the backward pass.
/// Shapes: u and y are N × heads·w.
/// Errors: ArgumentError in a stream.
/// Cost: 4·N·K·w flops per head, four times that backward; scratch: K × n values for n tokens, three times that backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> attend_to_memory(Run& run, const ExternalMemory<T>& memory, const MatrixOf<Run>& u, const T* visible) {
  expect_all_tokens(run, "a softmax over the tokens");
  run.sequences().expect_total("attend_to_memory", run.rows(u));
  using detail::SequenceHead;
  const auto y = run.make(run.rows(u), run.columns(u));
  const auto visible_in = [visible](const Sequences& sequences, Index b) {
    return visible == nullptr ? nullptr : visible + sequences.offset(b);
  };
  const Sequences& sequences = run.sequences();
  const MatrixView<const T> from = run[u];
  const MatrixView<T> place = run[y];
  detail::for_each_head(sequences, place.rows() > 0 ? memory.heads : 0, [&](const SequenceHead& at) {
    detail::external_memory::attend<T>(memory, at.of(from, sequences), visible_in(sequences, at.b), at.of(place, sequences),
                                       run.workspace(), detail::watcher(run, at));
  });
  if constexpr (Run::records) {
    run.push([memory, u, y, visible_in, kept = run.kept_sequences()](auto& back) {
      const Sequences split = back.sequences(kept);
      const MatrixView<const T> dy = back.gradient(y), values = back[u];
      const MatrixView<T> du = back.wants_gradient(u) ? MatrixView<T>(accumulator(back, u)) : MatrixView<T>();
      detail::for_each_head(split, memory.heads, [&](const SequenceHead& at) {
        detail::external_memory::attend_backward<decltype(back), T>(back, memory, at.of(values, split), visible_in(split, at.b),
                                                                    at.of(dy, split), at.of(du, split));
      });
    });
  }
  return y;
}

}  // namespace gated
