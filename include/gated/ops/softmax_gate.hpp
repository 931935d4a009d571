#pragma once

#include "gated/core/sequences.hpp"
#include "gated/ops/attention.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// Gating by a softmax.

namespace gated {

/// What the softmax of a gate runs over.
enum class GateAxis {
  channels,  ///< of each token
  tokens     ///< of each sequence, channel by channel
};

namespace detail {

/// The softmax of z along an axis, in place.
template <class T>
void softmax_along(GateAxis axis, const Sequences& sequences, View<T> z, const Workspace<T>& workspace) {
  if (axis == GateAxis::channels) {
    return softmax<T>(z, false, workspace);
  }
  parallel_for(z.rows() < 4 * rows_per_task ? Threads{1} : workspace.threads(), sequences.count(), [&](Index b, Index) {
    GATED_KERNEL(
        softmax_columns<T>(z.data() + sequences.offset(b) * z.outerStride(), z.outerStride(), sequences.length(b), z.cols()));
  });
}

/// The backward pass through it: `gradient` holds ∂s and becomes ∂z.
template <class T>
void softmax_along_backward(GateAxis axis, const Sequences& sequences, View<T> s, View<T> gradient,
                            const Workspace<T>& workspace) {
  if (axis == GateAxis::channels) {
    return scores_backward<T>(0, Scoring<T>{.kernel = ScoreKernel::softmax}, s, gradient, workspace);
  }
  parallel_for(workspace.threads(), sequences.count(), [&](Index b, Index) {
    const Index first = sequences.offset(b);
    GATED_KERNEL(softmax_columns_backward<T>(s.data() + first * s.outerStride(), s.outerStride(), sequences.length(b), s.cols(),
                                             gradient.data() + first * gradient.outerStride(), gradient.outerStride()));
  });
}

}  // namespace detail

/// y = x ⊙ s with s = softmax(z) along an axis: the gate of PatchTSMixer and TinyTimeMixer (arXiv:2306.09364, §3).
///
///     ∂x = ∂y ⊙ s        ∂z = s ⊙ (∂y ⊙ x - Σ s ⊙ ∂y ⊙ x), the sum along the axis
///
/// Shapes: x, z and y are rows × C; y may be x. z is overwritten where nobody else needs it.
/// Errors: ShapeError.
/// Cost: an exponential a number; a copy of z in training.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows softmax_gate(Run& run, const typename Run::Rows& x, const typename Run::Rows& z, GateAxis axis,
                                const typename Run::Place& to = {}) {
  const Index rows = run.count(x), columns = run.width(x);
  require<ShapeError>(run.count(z) == rows && run.width(z) == columns, "softmax_gate: x is ", rows, " × ", columns,
                      " and z is ", run.count(z), " × ", run.width(z), ", expected equal shapes.");
  Rows<T> s = run[z];
  if constexpr (!Run::records) {
    s = z;
  }
  if (Run::records || !s.scratch) {
    s = Rows<T>(run.take(rows * columns), rows, columns, columns);
    View<T> copied = s;
    copied = run[z];
  }
  detail::softmax_along<T>(axis, run.sequences(), s, run.workspace());
  const auto y = run.make(rows, columns, to);
  assign<T>(run[y], run.workspace(), reader<T>(run[x]) * reader<T>(s));
  if constexpr (Run::records) {
    run.push([x, z, y, s, axis, kept = run.kept_sequences()](auto& back) {
      Workspace<T>& workspace = back.workspace();
      const auto frame = workspace.frame();
      const auto dy = reader<T>(back.gradient(y));
      MatrixMap<T> slope = workspace.matrix(s.count, s.columns);
      assign<T>(slope, workspace, dy * reader<T>(back[x]));
      detail::softmax_along_backward<T>(axis, back.sequences(kept), s, slope, workspace);
      add_gradient(back, x, dy * reader<T>(s));
      add_gradient(back, z, reader<T>(slope));
    });
  }
  return y;
}

}  // namespace gated
