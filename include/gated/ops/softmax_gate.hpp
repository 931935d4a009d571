#pragma once

#include <utility>

#include "gated/core/sequences.hpp"
#include "gated/ops/attention.hpp"
#include "gated/ops/softmax.hpp"

/// @file
/// Gating by a softmax.

namespace gated {

/// The axis of a gate's softmax.
enum class GateAxis {
  channels,  ///< one softmax per token
  tokens     ///< one softmax per sequence and channel
};

namespace detail {

/// The softmax of z along an axis, in place.
template <class T>
void softmax_along(GateAxis axis, const Sequences& sequences, View<T> z, const Workspace<T>& workspace) {
  if (axis == GateAxis::channels) {
    return softmax<T>(z, workspace);
  }
  parallel_for(z.rows() < 4 * rows_per_task ? Threads{1} : workspace.threads(), sequences.count(), [&](Index b, Index) {
    kernels<SoftmaxGateDerivatives<T>>().softmax_columns(z.data() + sequences.offset(b) * z.outerStride(), z.outerStride(),
                                                         sequences.length(b), z.cols());
  });
}

/// Backward pass of softmax_along(): `gradient` is ∂s on entry and ∂z on return.
template <class T>
void softmax_along_backward(GateAxis axis, const Sequences& sequences, View<T> s, View<T> gradient,
                            const Workspace<T>& workspace) {
  if (axis == GateAxis::channels) {
    return scores_backward<T>(0, Scoring<T>{.kernel = ScoreKernel::softmax}, s, gradient, workspace);
  }
  parallel_for(workspace.threads(), sequences.count(), [&](Index b, Index) {
    const Index first = sequences.offset(b);
    kernels<SoftmaxGateDerivatives<T>>().softmax_columns_backward(
        s.data() + first * s.outerStride(), s.outerStride(), sequences.length(b), s.cols(),
        gradient.data() + first * gradient.outerStride(), gradient.outerStride());
  });
}

/// y = x ⊙ softmax(z) + residual, with the softmax along an axis. Overwrites z.
template <class T>
void gate_along(GateAxis axis, const Sequences& sequences, const MatrixView<T>& z, const MatrixView<const T>& x,
                const MatrixView<const T>& residual, const MatrixView<T>& y, const Workspace<T>& workspace) {
  const auto at = [](const auto& m, Index row) { return detail::shifted(m.data, row * m.stride); };
  if (axis == GateAxis::channels) {
    return for_each_block_of_rows(y.rows(), workspace, [&](Index row, Index rows) {
      kernels<SoftmaxGateKernels<T>>().softmax_gate_rows(rows, y.columns(), at(z, row), z.stride, at(x, row), x.stride,
                                                         at(residual, row), residual.stride, at(y, row), y.stride);
    });
  }
  parallel_for(y.rows() < 4 * rows_per_task ? Threads{1} : workspace.threads(), sequences.count(), [&](Index b, Index) {
    const Index row = sequences.offset(b);
    kernels<SoftmaxGateKernels<T>>().softmax_gate_columns(sequences.length(b), y.columns(), at(z, row), z.stride, at(x, row),
                                                          x.stride, at(residual, row), residual.stride, at(y, row), y.stride);
  });
}

/// Backward pass of softmax_gate(), given s = softmax(z).
template <class Back, class Variable, class T>
void softmax_gate_backward(Back& back, Variable x, Variable z, Variable y, const MatrixView<T>& s, Variable residual,
                           GateAxis axis, const Sequences& sequences) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const auto dy = reader<T>(back.gradient(y));
  MatrixMap<T> ds = workspace.matrix(s.rows(), s.columns());
  assign<T>(ds, workspace, dy * reader<T>(back[x]));
  softmax_along_backward<T>(axis, sequences, s, ds, workspace);
  add_gradient(back, x, dy * reader<T>(s));
  add_gradient(back, z, reader<T>(ds));
  if (residual) {
    add_gradient(back, residual, dy);
  }
}

}  // namespace detail

/// y = x ⊙ s with s = softmax(z) along an axis and `epilogue` applied: the gate of PatchTSMixer and TinyTimeMixer
/// (arXiv:2306.09364, §3).
///
///     ∂x = ∂y ⊙ s        ∂z = s ⊙ (∂y ⊙ x - Σ s ⊙ ∂y ⊙ x), summed along the axis
///
/// In inference, an epilogue with only a residual needs no extra pass. If z is moved in, its memory is overwritten.
/// Shapes: x, z and y are rows × C; y may be x or the residual.
/// Errors: ShapeError if x and z differ in shape, or an epilogue matrix is not shaped like y.
/// Cost: one exponential per element; training also copies z.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> softmax_gate(Run& run, MatrixOf<Run> x, MatrixOf<Run> z, GateAxis axis, Epilogue<Run> epilogue = {}) {
  const Index rows = run.rows(x), columns = run.columns(x);
  require<ShapeError>(run.rows(z) == rows && run.columns(z) == columns, "softmax_gate: x is ", rows, " × ", columns,
                      " and z is ", run.rows(z), " × ", run.columns(z), ", expected equal shapes.");
  Epilogue<Run> plain;
  bool is_plain = !epilogue.added && !epilogue.saves() && epilogue.residual_scale == nullptr;
  if constexpr (Run::records) {
    is_plain = is_plain && !run.drops(epilogue.drop_path);  // join() drops
  }
  if (is_plain) {
    plain = std::exchange(epilogue, {});
  }
  auto y = plain.residual ? run.make(rows, columns, plain) : run.reuse(x);
  const MatrixView<const T> residual = epilogue_of(run, plain, y).residual;
  if constexpr (Run::records) {
    const MatrixView<T> s(run.take(rows * columns), rows, columns, columns);
    s.assign(run[z]);
    detail::softmax_along<T>(axis, run.sequences(), s, run.workspace());
    assign<T>(run[y], run.workspace(), reader<T>(run[x]) * reader<T>(s));
    if (residual) {  // in a separate pass: in one pass, the compiler could use FMA, which rounds differently
      assign<T>(run[y], run.workspace(), reader<T>(run[y]) + reader<T>(residual));
    }
    run.push([x, z, y, s, residual = plain.residual, axis, kept = run.kept_sequences()](auto& back) {
      detail::softmax_gate_backward<decltype(back), MatrixOf<Run>, T>(back, x, z, y, s, residual, axis, back.sequences(kept));
    });
  } else {
    const auto s = run.owned(std::move(z));
    detail::gate_along<T>(axis, run.sequences(), s, run[x], residual, run[y], run.workspace());
  }
  return join(run, std::move(y), std::move(epilogue));
}

}  // namespace gated
