#pragma once

#include <algorithm>
#include <concepts>

#include "gated/ops/matmul.hpp"
#include "gated/ops/row_loops.hpp"
#include "gated/ops/kernels.hpp"

/// @file
/// How gradients receive their parts, for the backward pass that stands beside each op.
///
/// `back` is a tape in its backward pass (train/tape.hpp): back[x] are the values of a variable, back.gradient(y) what has
/// reached it, back.target(x) where the gradient of x goes, and back.gradient_of(p) that of a parameter, by its address.

namespace gated {

/// A vector of a matrix at (row, column): what loops over matrices read.
template <class T>
auto reader(const ConstView<T>& x) {
  return [data = x.data(), stride = x.outerStride()](Index i, Index j, Index lanes) {
    return Simd<T>::load(data + i * stride + j, lanes);
  };
}

/// y = f(row, column, lanes), vector by vector.
template <class T, class F>
void assign(View<T> y, const Workspace<T>& workspace, const F& f) {
  for_each_row(y.rows(), workspace, [&](Index i) {
    T* const row = y.data() + i * y.outerStride();
    for_each_vector<T>(y.cols(), [&](Index j, Index lanes) { f(i, j, lanes).store(row + j, lanes); });
  });
}

/// gradient(x) += f(row, column, lanes), vector by vector.
template <class Back, class Variable, std::invocable<Index, Index, Index> F>
void add_gradient(Back& back, Variable x, const F& f) {
  using T = typename Back::Scalar;
  if (!back.wants_gradient(x)) {
    return;
  }
  auto [to, is_fresh] = back.target(x);
  assign<T>(to, back.workspace(), [&, &to = to, fresh = is_fresh](Index i, Index j, Index lanes) {
    const Simd<T> value = f(i, j, lanes);
    return fresh ? value : Simd<T>::load(to.data() + i * to.outerStride() + j, lanes) + value;
  });
}

/// gradient(x) += values.
template <class Back, class Variable>
void add_gradient(Back& back, Variable x, const ConstView<typename Back::Scalar>& values) {
  add_gradient(back, x, reader<typename Back::Scalar>(values));
}

/// The gradient of x, zero where nothing reached it: for what adds to it piece by piece.
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
    const Rows<const typename Back::Scalar> before = to;
    matmul(a, b, to, back.workspace(), {.added = fresh ? Rows<const typename Back::Scalar>() : before});
  }
}

/// gradient of a parameter += a · b, if it is trained.
template <class Back, class T>
void add_parameter_product(Back& back, const Matrix<T>& parameter, const std::type_identity_t<Operand<T>>& a,
                           const std::type_identity_t<Operand<T>>& b) {
  if (T* const to = back.gradient_of(parameter.data())) {
    Eigen::Map<Matrix<T>> gradient(to, parameter.rows(), parameter.cols());
    matmul(a, b, gradient, back.workspace(), {.added = gradient});
  }
}

/// to[j] += Σ_i f(i, j, lanes) over `rows` rows, summed in their order, for a million as exactly as for 64: the gradient of
/// what is shared by all tokens.
template <class T, class F>
void add_column_sums(Index rows, Index columns, T* to, const Workspace<T>& workspace, const F& f) {
  constexpr unsigned together = 8;  // vectors side by side, so that memory is read in runs of some cache lines
  constexpr Index block = 64;       // rows that are added up plainly, before their sum joins the exact one
  constexpr Index width = Simd<T>::width, task_columns = together * width;
  const Index tasks = (columns + task_columns - 1) / task_columns;
  parallel_for(rows * columns < 1 << 14 ? Threads{1} : workspace.threads(), tasks, [&](Index task, Index) {
    const Index first = task * task_columns, vectors = (std::min(columns - first, task_columns) + width - 1) / width;
    const auto lanes_of = [&](Index k) { return std::min(width, columns - first - k * width); };
    RunningSum<T> sums[together];
    const auto add_rows = [&](auto all) {  // all vectors, or as many as there are
      for (Index i = 0; i < rows;) {
        Simd<T> parts[together];
        for (unsigned k = 0; k < together; ++k) {
          parts[k] = Simd<T>(T{0});
        }
        for (const Index end = std::min(i + block, rows); i < end; ++i) {
          if constexpr (all) {
            GATED_UNROLL
            for (unsigned k = 0; k < together; ++k) {
              parts[k] = parts[k] + f(i, first + static_cast<Index>(k) * width, width);
            }
          } else {
            for (Index k = 0; k < vectors; ++k) {
              parts[k] = parts[k] + f(i, first + k * width, lanes_of(k));
            }
          }
        }
        for (unsigned k = 0; k < together; ++k) {
          sums[k].add(parts[k]);
        }
      }
    };
    if (first + task_columns <= columns) {
      add_rows(std::true_type{});
    } else {
      add_rows(std::false_type{});
    }
    for (Index k = 0; k < vectors; ++k) {
      T* const at = to + first + k * width;
      (Simd<T>::load(at, lanes_of(k)) + sums[k].lanes()).store(at, lanes_of(k));
    }
  });
}

/// The same for the rows of a matrix: the gradient of a bias.
template <class T>
void add_column_sums(const ConstView<T>& x, T* to, const Workspace<T>& workspace) {
  add_column_sums<T>(x.rows(), x.cols(), to, workspace, reader<T>(x));
}

}  // namespace gated
