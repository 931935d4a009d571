#pragma once

#include <algorithm>
#include <functional>

#include "gated/ops/gradients.hpp"

/// @file
/// Reshapes rows to another length.

namespace gated {

namespace detail {

/// Calls `f(from, to, count)`, in row-major order, for each run of elements that is contiguous in both matrices.
template <class T, class F>
void for_each_shared_run(const MatrixView<const T>& from, const MatrixView<T>& to, const F& f) {
  const Index total = from.rows() * from.columns();
  for (Index done = 0; done < total;) {
    const Index i = done % from.columns(), j = done % to.columns(), count = std::min(from.columns() - i, to.columns() - j);
    f(from.data + done / from.columns() * from.stride + i, to.data + done / to.columns() * to.stride + j, count);
    done += count;
  }
}

}  // namespace detail

/// y = x reshaped to `columns` columns, in row-major order: splits tokens into narrower ones, or merges them into wider ones.
/// ∂x = ∂y, reshaped back.
///
/// Returns a view of x if its rows are contiguous and the run does not record.
/// Errors: ShapeError if `columns` does not divide the number of elements.
/// Cost: none for a view, otherwise one copy.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> reshape(Run& run, MatrixOf<Run> x, Index columns) {
  const Index total = run.rows(x) * run.columns(x);
  require<ShapeError>(columns > 0 && total % columns == 0, "reshape: x is ", run.rows(x), " × ", run.columns(x),
                      ", which cannot be reshaped to ", columns, " columns. Choose a number that divides ", total, ".");
  if (columns == run.columns(x)) {
    return x;
  }
  if constexpr (!Run::records) {
    if (x.stride == x.columns() || x.rows() <= 1) {
      return x.sharing({x.data, total / columns, columns, columns});
    }
  }
  const auto y = run.make_contiguous(total / columns, columns);
  const auto copy = [](const T* from, T* target, Index count) { std::copy_n(from, count, target); };
  detail::for_each_shared_run<T>(run[x], run[y], copy);
  if constexpr (Run::records) {
    run.push([x, y, copy](auto& back) {
      if (!back.wants_gradient(x)) {
        return;
      }
      const ConstView<T> dy = back.gradient(y);
      auto [dx, fresh] = back.target(x);
      if (fresh) {
        detail::for_each_shared_run<T>(dy, dx, copy);
      } else {
        detail::for_each_shared_run<T>(dy, dx, [](const T* from, T* target, Index count) {
          std::transform(from, from + count, target, target, std::plus<T>());
        });
      }
    });
  }
  return y;
}

}  // namespace gated
