#pragma once

#include "gated/core/rounded.hpp"
#include "gated/core/stream.hpp"
#include "gated/ops/gradients.hpp"
#include "gated/ops/interpolation.hpp"

/// @file
/// Position embeddings on a grid of image patches: an op with its derivative.

namespace gated {

/// Position vectors, one per cell of a grid. Interpolated bilinearly if the patch grid has a different size. Non-owning.
template <class T>
struct GridPositions {
  const Matrix<T>* table;        ///< C × cells: one column per cell, in row-major order of the grid
  const Vector<T>* class_token;  ///< C: the vector of a class token before the patches; empty without a class token
  Index cells_down, cells_across;
  Index patches_down, patches_across;

  Index others() const { return class_token->size() > 0 ? 1 : 0; }
  Index tokens() const { return others() + patches_down * patches_across; }

  /// Calls `f(token, cell, share)` for each patch token and each cell it reads; `share` is the interpolation weight.
  template <class F>
  void for_each_share(const F& f) const {
    for (Index y = 0; y < patches_down; ++y) {
      for (const detail::Tap& down : detail::linear_taps(y, cells_down, patches_down)) {
        for (Index x = 0; x < patches_across; ++x) {
          for (const detail::Tap& across : detail::linear_taps(x, cells_across, patches_across)) {
            if (const double share = down.share * across.share; share > 0) {
              f(others() + y * patches_across + x, down.cell * cells_across + across.cell, static_cast<T>(share));
            }
          }
        }
      }
    }
  }
};

namespace detail {

/// Backward pass of add_grid_positions(), without ∂x.
template <class Back, class T>
void add_grid_gradients(Back& back, const GridPositions<T>& positions, const MatrixView<const T>& dy,
                        const Sequences& sequences) {
  const Index tokens = positions.tokens(), channels = dy.columns();
  const auto frame = back.workspace().frame();
  MatrixMap<T> sum = back.workspace().matrix(tokens, channels);
  sum.setZero();
  for (Index b = 0; b < sequences.count(); ++b) {
    assign<T>(sum, back.workspace(), reader<T>(dy.rows(sequences.offset(b), tokens)), true);
  }
  if (T* const to_class = back.gradient_of(positions.class_token->data()); to_class != nullptr && positions.others() > 0) {
    Eigen::Map<Vector<T>>(to_class, channels) += sum.row(0).transpose();
  }
  if (T* const to_table = back.gradient_of(positions.table->data())) {
    Eigen::Map<Matrix<T>> table(to_table, channels, positions.table->cols());
    positions.for_each_share([&](Index token, Index cell, T share) {
      for (Index j = 0; j < channels; ++j) {
        table(j, cell) += rounded(share * sum(token, j));
      }
    });
  }
}

}  // namespace detail

/// y_t = x_t + p_t in each sequence; p_t is interpolated from the cells around the patch of token t. The class token, if there
/// is one, comes first and has its own vector; the patches follow row by row. ∂x = ∂y; each cell and the class token receive
/// their shares of Σ ∂y over the sequences.
///
/// Shapes: x and y are N × C; every sequence has the class token, if there is one, and a token per patch.
/// Errors: ArgumentError in a stream.
/// Cost: one pass over x; each patch interpolates between up to four cells.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> add_grid_positions(Run& run, MatrixOf<Run> x, const GridPositions<T>& positions) {
  expect_all_tokens(run, "a grid of image patches");
  const Index tokens = positions.tokens(), channels = run.columns(x);
  const auto y = run.reuse(x);
  const Sequences& sequences = run.sequences();
  Workspace<T>& workspace = run.workspace();
  const auto frame = workspace.frame();
  const MatrixView<T> added = workspace.matrix(tokens, channels);
  added.fill(T{0});
  if (positions.others() > 0) {
    added.rows(0, 1).assign({positions.class_token->data(), 1, channels, 0});
  }
  const Matrix<T>& cells = *positions.table;
  positions.for_each_share([&](Index token, Index cell, T share) {
    for (Index j = 0; j < channels; ++j) {
      added.data[token * added.stride + j] += rounded(share * cells(j, cell));
    }
  });
  const MatrixView<const T> from = run[x];
  const MatrixView<T> sums = run[y];
  for (Index b = 0; b < sequences.count(); ++b) {
    const auto part = [first = sequences.offset(b), tokens](const auto& rows) { return rows.rows(first, tokens); };
    assign<T>(part(sums), workspace, reader<T>(part(from)) + reader<T>(added));
  }
  if constexpr (Run::records) {
    run.push([x, y, positions, kept = run.kept_sequences()](auto& back) {
      const MatrixView<const T> dy = back.gradient(y);
      add_gradient(back, x, reader<T>(dy));
      detail::add_grid_gradients(back, positions, dy, back.sequences(kept));
    });
  }
  return y;
}

}  // namespace gated
