#pragma once

#include <algorithm>
#include <concepts>

#include "gated/ops/matmul.hpp"
#include "gated/ops/norm.hpp"
#include "gated/ops/running_sum.hpp"
#include "gated/train/tape.hpp"

/// @file
/// The ways in which a gradient receives its parts.

namespace gated {

/// gradient(x) += f(row, column, lanes), vector by vector.
template <class T, std::invocable<Index, Index, Index> F>
void add_gradient(Tape<T>& tape, Variable x, const F& f) {
  if (!tape.wants_gradient(x)) {
    return;
  }
  auto [target, is_fresh] = tape.target(x);
  for_each_row(target.rows(), tape.workspace(), [&, &to = target, fresh = is_fresh](Index i) {
    T* const row = to.data() + i * to.outerStride();
    for_each_vector<T>(to.cols(), [&](Index j, Index lanes) {
      const Simd<T> value = f(i, j, lanes);
      (fresh ? value : Simd<T>::load(row + j, lanes) + value).store(row + j, lanes);
    });
  });
}

/// gradient(x) += values.
template <class T>
void add_gradient(Tape<T>& tape, Variable x, const ConstView<T>& values) {
  add_gradient(tape, x, [&](Index i, Index j, Index lanes) {
    return Simd<T>::load(values.data() + i * values.outerStride() + j, lanes);
  });
}

/// The gradient of x, zero where nothing reached it: for what adds to it piece by piece.
template <class T>
View<T> accumulator(Tape<T>& tape, Variable x) {
  auto [to, fresh] = tape.target(x);
  if (fresh) {
    to.setZero();
  }
  return to;
}

/// gradient(x) += stages(a · b).
template <class T, class... Stages>
void add_gradient_product(Tape<T>& tape, Variable x, const std::type_identity_t<Operand<T>>& a,
                          const std::type_identity_t<Operand<T>>& b, const Stages&... stages) {
  if (!tape.wants_gradient(x)) {
    return;
  }
  auto [to, fresh] = tape.target(x);
  if (fresh) {
    matmul<T>(a, b, to, tape.workspace(), stages...);
  } else {
    matmul<T>(a, b, to, tape.workspace(), stages..., Add<T>(to));
  }
}

/// gradient of a parameter += a · b, if it is trained.
template <class T>
void add_parameter_product(Tape<T>& tape, const Matrix<T>& parameter, const std::type_identity_t<Operand<T>>& a,
                           const std::type_identity_t<Operand<T>>& b) {
  if (T* const to = tape.gradient_of(parameter.data())) {
    Eigen::Map<Matrix<T>> gradient(to, parameter.rows(), parameter.cols());
    matmul<T>(a, b, gradient, tape.workspace(), Add<T>(gradient));
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
  const auto add_to = [&](Index j, Index lanes, Simd<T> sum) { (Simd<T>::load(to + j, lanes) + sum).store(to + j, lanes); };
  parallel_for(rows * columns < 1 << 14 ? Threads{1} : workspace.threads(), tasks, [&](Index task, Index) {
    const Index first = task * task_columns;
    if (first + task_columns <= columns) {
      RunningSum<T> sums[together];
      for (Index i = 0; i < rows;) {
        Simd<T> parts[together];
        GATED_UNROLL
        for (unsigned k = 0; k < together; ++k) {
          parts[k] = Simd<T>(T{0});
        }
        for (const Index end = std::min(i + block, rows); i < end; ++i) {
          GATED_UNROLL
          for (unsigned k = 0; k < together; ++k) {
            parts[k] = parts[k] + f(i, first + static_cast<Index>(k) * width, width);
          }
        }
        GATED_UNROLL
        for (unsigned k = 0; k < together; ++k) {
          sums[k].add(parts[k]);
        }
      }
      GATED_UNROLL
      for (unsigned k = 0; k < together; ++k) {
        add_to(first + static_cast<Index>(k) * width, width, sums[k].lanes());
      }
      return;
    }
    for_each_vector<T>(columns - first, [&](Index offset, Index lanes) {
      RunningSum<T> sum;
      for (Index i = 0; i < rows;) {
        Simd<T> part(T{0});
        for (const Index end = std::min(i + block, rows); i < end; ++i) {
          part = part + f(i, first + offset, lanes);
        }
        sum.add(part);
      }
      add_to(first + offset, lanes, sum.lanes());
    });
  });
}

/// The same for the rows of a matrix: the gradient of a bias.
template <class T>
void add_column_sums(const ConstView<T>& x, T* to, const Workspace<T>& workspace) {
  add_column_sums<T>(x.rows(), x.cols(), to, workspace,
                     [&](Index i, Index j, Index lanes) { return Simd<T>::load(x.data() + i * x.outerStride() + j, lanes); });
}

}  // namespace gated
