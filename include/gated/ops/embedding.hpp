#pragma once

#include <algorithm>
#include <span>

#include "gated/core/sequences.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Embedding lookup and learned positions, with derivatives.

namespace gated {

/// Token ids of a text, 0 … V-1.
using Tokens = std::span<const Index>;

/// Raises ArgumentError unless all ids are in 0 … vocabulary - 1.
inline void expect_tokens(Where where, Tokens tokens, Index vocabulary) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    require<ArgumentError>(tokens[i] >= 0 && tokens[i] < vocabulary, where, ": token ", i, " has id ", tokens[i],
                           ", expected 0 … ", vocabulary - 1, ".");
  }
}

namespace detail {

/// Reads rows of a table that may be quantized, or stored only in PreparedWeights.
template <class T>
class Table {
 public:
  Table(const Matrix<T>& weight, const Workspace<T>& workspace) : weight_(weight) {
    if (workspace.prepared() != nullptr && workspace.prepared()->holds(weight.data())) {
      packed_ =
          workspace.prepared()->find(weight.data(), weight.rows(), weight.cols(), kernels<ProductKernels<T>>().panel_columns);
    }
  }

  /// Writes row `id` to `to`.
  void read(Index id, T* to) const {
    if (packed_.is_quantized() || (packed_ && is_elsewhere(*weight_.data()))) {
      packed_.read_row(id, to);
    } else {
      std::copy_n(weight_.data() + id * weight_.cols(), weight_.cols(), to);
    }
  }

 private:
  const Matrix<T>& weight_;
  PackedWeight<T> packed_;
};

/// ∂weight[id_t] += ∂y_t, token by token in order.
template <class Back, class Variable, class Id, class T = typename Back::Scalar>
void embed_backward(Back& back, const Matrix<T>& weight, const Id& id, Variable y) {
  if (T* const to = back.gradient_of(weight.data())) {
    const ConstView<T> dy = back.gradient(y);
    Eigen::Map<Matrix<T>> gradient(to, weight.rows(), weight.cols());
    for (Index t = 0; t < dy.rows(); ++t) {
      gradient.row(id(t)) += dy.row(t);
    }
  }
}

}  // namespace detail

/// y_t = weight[id_t]. ∂weight[id_t] += ∂y_t.
/// Shapes: weight is V × C, ids are N values in 0 … V-1, y is N × C.
/// Cost: a copy of N rows; backward, one pass over ∂y.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> embed(Run& run, const Matrix<T>& weight, Tokens ids) {
  const auto y = run.make(static_cast<Index>(ids.size()), weight.cols());
  View<T> rows = run[y];
  const detail::Table<T> table(weight, run.workspace());
  for (std::size_t t = 0; t < ids.size(); ++t) {
    table.read(ids[t], &rows.coeffRef(static_cast<Index>(t), 0));
  }
  if constexpr (Run::records) {
    run.push([&weight, ids = run.keep(ids), y](auto& back) {
      detail::embed_backward(
          back, weight, [ids](Index t) { return ids[static_cast<std::size_t>(t)]; }, y);
    });
  }
  return y;
}

/// y_t = x_t + weight[id_t]; every id is 0 if `ids` is empty. ∂x = ∂y; ∂weight as in embed().
/// Shapes: weight is V × C, ids are N values in 0 … V-1 or none, x and y are N × C; y may be x.
/// Cost: one pass over x; backward, two passes over ∂y; scratch: C values.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> add_embedding(Run& run, MatrixOf<Run> x, const Matrix<T>& weight, Tokens ids) {
  const auto y = run.reuse(x);
  const auto id = [ids = kept(run, ids)](Index t) { return ids.empty() ? 0 : ids[static_cast<std::size_t>(t)]; };
  const View<T> from = run[x];
  View<T> sum = run[y];
  const auto frame = run.workspace().frame();
  const detail::Table<T> table(weight, run.workspace());
  Eigen::Map<Eigen::Matrix<T, 1, Eigen::Dynamic>> row(run.workspace().take(weight.cols()), weight.cols());
  for (Index t = 0; t < sum.rows(); ++t) {
    table.read(id(t), row.data());
    sum.row(t) = from.row(t) + row;
  }
  if constexpr (Run::records) {
    run.push([&weight, id, x, y](auto& back) {
      add_gradient(back, x, back.gradient(y));
      detail::embed_backward(back, weight, id, y);
    });
  }
  return y;
}

/// y_t = x_t + table[position of t in its sequence]. ∂x = ∂y, ∂table[position] += ∂y_t. Positions continue across stream steps.
/// Shapes: table is P × C, for sequences of up to P tokens; x and y are N × C; y may be x.
/// Errors: ShapeError if a sequence runs past the end of the table, or the sequences do not cover the rows of x.
/// Cost: one pass over x; backward, two passes over ∂y.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> add_positions(Run& run, MatrixOf<Run> x, const Matrix<T>& table) {
  const Index first = run.position();
  const Sequences& sequences = run.sequences();
  sequences.expect_total("add_positions", run.rows(x));
  require<ShapeError>(first + sequences.longest() <= table.rows(), "add_positions: a sequence has ",
                      first + sequences.longest(), " tokens, but the table has ", table.rows(), " rows.");
  const auto y = run.reuse(x);
  const View<T> from = run[x];
  View<T> sum = run[y];
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    sum.middleRows(offset, length) = from.middleRows(offset, length) + table.middleRows(first, length);
  }
  if constexpr (Run::records) {
    run.push([&table, x, y, kept = run.kept_sequences()](auto& back) {
      const ConstView<T> dy = back.gradient(y);
      add_gradient(back, x, dy);
      if (T* const to_table = back.gradient_of(table.data())) {
        Eigen::Map<Matrix<T>> gradient(to_table, table.rows(), table.cols());
        const Sequences split = back.sequences(kept);
        for (Index b = 0; b < split.count(); ++b) {
          gradient.topRows(split.length(b)) += dy.middleRows(split.offset(b), split.length(b));
        }
      }
    });
  }
  return y;
}

}  // namespace gated
