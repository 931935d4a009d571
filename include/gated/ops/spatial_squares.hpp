#pragma once

#include <algorithm>

#include "gated/ops/epilogue.hpp"
#include "gated/ops/row_loops.hpp"
#include "gated/ops/spatial_weight.hpp"
#include "gated/ops/toeplitz.hpp"

/// @file
/// FFT products with square blocks of a Toeplitz weight, the building blocks of ops/spatial_fourier.hpp (whole sequences) and
/// ops/spatial_stream.hpp (streams).

namespace gated::detail::fourier {

/// Transforms the Toeplitz matrices d_k = w_{offset + k}, |k| < n, of all heads. Writes circle.bins() factors per head.
template <class T>
void transform_weight(const Circle<T>& circle, const SpatialWeight<T>& weight, Index offset, Index n, Factor<T>* factors,
                      T* scratch) {
  const Index width = vector_width<T>();
  for (Index head = 0; head < weight.heads; head += width) {
    const Index lanes = std::min(width, weight.heads - head);
    circle.transform_matrix(
        n,
        [&](Index k, T* row) {
          for (Index lane = 0; lane < lanes; ++lane) {
            row[lane] = weight.lag(head + lane, offset + k);
          }
        },
        scratch);
    for (Index lane = 0; lane < lanes; ++lane) {
      circle.take_lane(scratch, lane, factors + (head + lane) * circle.bins());
    }
  }
}

/// Number of scalars per factor.
template <class T>
constexpr Index factor_size = static_cast<Index>(sizeof(Factor<T>) / sizeof(T));

/// A square block of a Toeplitz matrix: it maps `rows` tokens to as many tokens, `lag` positions later.
struct Square {
  Index rows, lag;

  bool operator==(const Square&) const = default;
};

/// The squares of a weight that are applied by FFT: the whole matrix or, for a causal weight, blocks below its diagonal.
template <class T>
struct Products {
  SpatialWeight<T> weight;

  /// Calls f(square) for each square: first the squares for whole sequences, then the squares for streams.
  template <class F>
  void for_each(const F& f) const {
    if (!weight.causal) {
      return f(Square{weight.length, 0});
    }
    for (Index rows = weight.tile(); rows < weight.length; rows *= 2) {
      f(Square{rows, rows});
    }
    for (Index rows = weight.stream_tile(); 2 * rows < weight.length; rows *= 2) {
      f(Square{rows, 2 * rows});
      if (3 * rows < weight.length) {
        f(Square{rows, 3 * rows});
      }
    }
  }
  static const Circle<T>& circle(const Square& square) { return Circle<T>::of(square.rows); }
  /// Writes the FFT factors of one square.
  void transform(const Square& square, Factor<T>* factors, T* scratch) const {
    transform_weight(circle(square), weight, square.lag, square.rows, factors, scratch);
  }
  /// Writes the factors of all squares, then the running kernels as a scalar: prepared_size() scalars in all.
  void transform_all(T* factors) const {
    for_each([&](const Square& square) {
      AlignedMemory<T> scratch(static_cast<std::size_t>(circle(square).scratch_size()));
      transform(square, reinterpret_cast<Factor<T>*>(factors), scratch.data());
      factors += size(square);
    });
    *factors = static_cast<T>(running_kernels());
  }

  /// Number of scalars that prepare() keeps for the weight.
  Index prepared_size() const {
    Index sum = 0;
    for_each([&](const Square& square) { sum += size(square); });
    return sum + 1;
  }
  /// The factors that prepare() kept, or nullptr if there are none by the running kernels.
  const Factor<T>* prepared(const Square& wanted, const Workspace<T>& workspace) const {
    const PreparedWeights<T>* const weights = workspace.prepared();
    if (weights == nullptr) {
      return nullptr;
    }
    Index all = 0, before = 0;
    for_each([&](const Square& square) {
      before = square == wanted ? all : before;
      all += size(square);
    });
    const PackedWeight<T> found = weights->find(weight.w->data(), 1, all + 1, 1);
    return found && found.numbers()[all] == static_cast<T>(running_kernels())
               ? reinterpret_cast<const Factor<T>*>(found.numbers() + before)
               : nullptr;
  }
  /// The factors of a square: those kept by prepare() or, if there are none, computed into scratch of the caller's frame.
  const Factor<T>* factors(const Square& square, Workspace<T>& workspace) const {
    if (const Factor<T>* const kept = prepared(square, workspace)) {
      return kept;
    }
    auto* const made = reinterpret_cast<Factor<T>*>(workspace.take(size(square)));
    const auto frame = workspace.frame();
    transform(square, made, workspace.take(circle(square).scratch_size()));
    return made;
  }

  /// Number of scalars in the factors of a square.
  Index size(const Square& square) const { return weight.heads * circle(square).bins() * factor_size<T>; }
};

/// The columns of one head that a task processes: transform_columns() of them, or fewer in a head's last task.
struct Columns {
  Index head, first, count;
};

/// Splits all columns of all heads into tasks.
template <class T>
struct ColumnTasks {
  Index heads, columns;

  Index width() const { return columns / heads; }  // per head
  Index per_head() const { return (width() + transform_columns<T>() - 1) / transform_columns<T>(); }
  Index count() const { return heads * per_head(); }
  Columns at(Index task) const {
    const Index head = task / per_head(), first = task % per_head() * transform_columns<T>();
    return {head, head * width() + first, std::min(transform_columns<T>(), width() - first)};
  }
};

/// Calls `f(task, columns, scratch)` for the tasks `first` … `last` - 1, in parallel, each thread with its own scratch.
template <class T, class F>
void for_each_task(const ColumnTasks<T>& tasks, Index first, Index last, Index rows, Index scratch_size,
                   Workspace<T>& workspace, const F& f) {
  const Threads threads = rows * (last - first) * row_size<T>() < 1 << 13 ? Threads{1} : workspace.threads();
  const auto frame = workspace.frame();
  T* const scratch = workspace.take(scratch_size * threads.count());
  parallel_for(threads, last - first,
               [&](Index k, Index thread) { f(first + k, tasks.at(first + k), scratch + thread * scratch_size); });
}

/// The values of one head, or nullptr if `numbers` is nullptr. Each head has `stride` values.
template <class T>
const T* of_head(const T* numbers, Index head, Index stride) {
  return numbers == nullptr ? nullptr : numbers + head * stride;
}

/// y = T v with `epilogue` applied, where `factors` is the transform of the Toeplitz matrix T. Two real columns form one
/// complex column. `v_scale`, `y_scale` and `row_bias` are heads × `row_stride`, with a value per row of v or y, or nullptr.
template <class T>
void multiply_rows(const Circle<T>& circle, const Factor<T>* factors, Index heads, const MatrixView<const T>& v,
                   const T* v_scale, const MatrixView<T>& y, const T* y_scale, const T* row_bias, Index row_stride,
                   const Epilogue<T>& epilogue, Workspace<T>& workspace) {
  const Index row = row_size<T>();
  const ColumnTasks<T> tasks{heads, v.columns()};
  for_each_task<T>(tasks, 0, tasks.count(), v.rows(), circle.scratch_size(), workspace, [&](Index, const Columns& c, T* x) {
    load_pair<T>(v.columns(c.first, c.count), of_head(v_scale, c.head, row_stride), x);
    circle.product(factors + c.head * circle.bins(), false, v.rows(), x);
    if (y_scale != nullptr) {
      load_pair<T>({x, y.rows(), row, row}, of_head(y_scale, c.head, row_stride), x);
    }
    Epilogue<T> joined = epilogue;
    joined.row_bias = of_head(row_bias, c.head, row_stride);
    constexpr Index together = 16;
    for (Index t = 0; t < y.rows(); t += together) {
      kernels<ProductKernels<T>>().finish_tile(joined, t, c.first, std::min(together, y.rows() - t), c.count, x + t * row,
                                               y.data + t * y.stride + c.first, y.stride);
    }
  });
}

/// y = a + b, or b if a is absent.
template <class T>
void add_rows(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& y,
              const Workspace<T>& workspace) {
  const auto right = reader<T>(b);
  a ? assign<T>(y, workspace, reader<T>(a) + right) : assign<T>(y, workspace, right);
}

}  // namespace gated::detail::fourier
