#pragma once

#include <algorithm>
#include <span>

#include "gated/core/run.hpp"
#include "gated/ops/kernel_calls.hpp"
#include "gated/ops/matmul.hpp"
#include "gated/ops/row_loops.hpp"
#include "gated/ops/terms.hpp"

/// @file
/// Helpers that accumulate gradients in backward passes.
///
/// `back` is a tape in its backward pass (train/tape.hpp). back[x] is the value of a variable, back.gradient(x) its gradient so
/// far, and back.target(x) the memory for its gradient. back.gradient_of(p) is the gradient of the parameter at address p.

namespace gated {

/// y = term, element-wise; y += term if `adds`.
template <class T, Term A>
void assign(View<T> y, const Workspace<T>& workspace, const A& term, bool adds = false) {
  for_each_block_of_rows(y.rows(), workspace, [&](Index first, Index rows) {
    kernels<AssignKernels<T, A>>().assign_rows(term, first, rows, y.cols(), y.data() + first * y.outerStride(), y.outerStride(),
                                               adds);
  });
}

/// gradient(x) += term, element-wise.
template <class Back, class Variable, Term A>
void add_gradient(Back& back, Variable x, const A& term) {
  if (back.wants_gradient(x)) {
    auto [to, fresh] = back.target(x);
    assign<typename Back::Scalar>(to, back.workspace(), term, !fresh);
  }
}

/// gradient(x) += values.
template <class Back, class Variable>
void add_gradient(Back& back, Variable x, const ConstView<typename Back::Scalar>& values) {
  add_gradient(back, x, reader<typename Back::Scalar>(values));
}

/// Returns `values` or, if the run records, a copy kept for the backward pass.
template <class Run, class V>
std::span<const V> kept(const Run& run, std::span<const V> values) {
  if constexpr (Run::records) {
    return run.keep(values);
  } else {
    return values;
  }
}

/// Returns x or, if the run records and x is present, a copy kept for the backward pass.
template <class Run, class T = typename Run::Scalar>
MatrixView<const T> kept(const Run& run, const MatrixView<const T>& x) {
  if constexpr (Run::records) {
    return x ? MatrixView<const T>(run[run.tape().constant(x)]) : x;
  } else {
    return x;
  }
}

/// Runs the backward pass of an activation, described by `b`, in parallel over its rows.
/// Cost: one pass over ∂y, z and the outputs; computes act(z) and act'(z) of each element.
template <class T>
void activation_backward(const ActivationBackward<T>& b, const Workspace<T>& workspace) {
  for_each_block_of_rows(b.dy.rows(), workspace, [&](Index first, Index rows) {
    kernels<DerivativeKernels<T>>().activation_backward_rows(b, first, rows);
  });
}

/// The memory for ∂x, for accumulation in several steps; set to zero if nothing has been added yet.
template <class Back, class Variable>
View<typename Back::Scalar> accumulator(Back& back, Variable x) {
  auto [to, fresh] = back.target(x);
  if (fresh) {
    to.setZero();
  }
  return to;
}

/// gradient(x) += a · b.
template <class Back, class Variable>
void add_gradient_product(Back& back, Variable x, const Operand<typename Back::Scalar>& a,
                          const Operand<typename Back::Scalar>& b) {
  if (back.wants_gradient(x)) {
    auto [to, fresh] = back.target(x);
    const MatrixView<const typename Back::Scalar> before = to;
    matmul(a, b, to, back.workspace(), {.added = fresh ? MatrixView<const typename Back::Scalar>() : before});
  }
}

/// gradient(parameter) += a · b, if the parameter is trained.
template <class Back, class T>
void add_parameter_product(Back& back, const Matrix<T>& parameter, const std::type_identity_t<Operand<T>>& a,
                           const std::type_identity_t<Operand<T>>& b) {
  if (T* const to = back.gradient_of(parameter.data())) {
    Eigen::Map<Matrix<T>> gradient(to, parameter.rows(), parameter.cols());
    matmul(a, b, gradient, back.workspace(), {.added = gradient});
  }
}

/// to[j] += Σ_i term_ij over `rows` rows: the gradient of parameters shared by all tokens. Sums in row order; the sum of a
/// million rows is as accurate as the sum of 64.
template <class T, Term A>
void add_column_sums(Index rows, Index columns, T* to, const Workspace<T>& workspace, const A& term) {
  const Index step = static_cast<Index>(vectors_together) * vector_width<T>(), tasks = (columns + step - 1) / step;
  parallel_for(rows * columns < 1 << 14 ? Threads{1} : workspace.threads(), tasks, [&](Index task, Index) {
    const Index first = task * step;
    kernels<SumKernels<T, A>>().sum_columns(term, rows, first, std::min(columns - first, step), to);
  });
}

/// to[j] += Σ_i x_ij, as in the gradient of a bias.
template <class T>
void add_column_sums(const ConstView<T>& x, T* to, const Workspace<T>& workspace) {
  add_column_sums<T>(x.rows(), x.cols(), to, workspace, reader<T>(x));
}

/// y = term, and to[j] += Σ_i y_ij as in add_column_sums(), in one pass.
template <class T, Term A>
void assign_and_add_column_sums(View<T> y, const Workspace<T>& workspace, const A& term, T* to) {
  const Index step = static_cast<Index>(vectors_together) * vector_width<T>(), tasks = (y.cols() + step - 1) / step;
  parallel_for(y.size() < 1 << 14 ? Threads{1} : workspace.threads(), tasks, [&](Index task, Index) {
    const Index first = task * step;
    kernels<AssignAndSumKernels<T, A>>().assign_and_sum_columns(term, y.rows(), first, std::min(y.cols() - first, step),
                                                                y.data(), y.outerStride(), to);
  });
}

}  // namespace gated
