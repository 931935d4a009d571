#pragma once

#include "gated/core/stream.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Vectors that say where in an image a token is: an op with its derivative.

namespace gated {

/// A vector for each cell of a grid, and how the patches read them. Refers to its numbers.
template <class T>
struct GridPositions {
  const Matrix<T>* table;        ///< C × cells
  const Vector<T>* class_token;  ///< C, for a token before the patches, or of no size for none
  const Matrix<T>* reading;      ///< patches × cells, or of no size where the patches are the cells

  Index others() const { return class_token->size() > 0 ? 1 : 0; }
  Index patches() const { return reading->size() > 0 ? reading->rows() : table->cols(); }
};

/// y_t = x_t + p_t in each sequence, with p = reading · tableᵀ for patches, row by row, and a vector of its own for a class
/// token before them. ∂x = ∂y; with s = Σ ∂y over the sequences, ∂table = sᵀ · reading and ∂class_token = s_0.
///
/// Shapes: x and y are N × C; every sequence has a token for each patch and for the class.
/// Errors: ArgumentError in a stream.
/// Cost: one pass over x, and 2·C·patches·cells flops where the patches are not the cells.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows add_grid_positions(Run& run, const typename Run::Rows& x, const GridPositions<T>& positions,
                                      const typename Run::Place& to) {
  expect_all_tokens(run, "an image");
  const Index tokens = positions.others() + positions.patches(), channels = run.width(x);
  const auto y = run.make(run.count(x), channels, to);
  const Sequences& sequences = run.sequences();
  Workspace<T>& workspace = run.workspace();
  const auto frame = workspace.frame();
  MatrixMap<T> added = workspace.matrix(tokens, channels);
  if (positions.others() > 0) {
    added.row(0) = positions.class_token->transpose();
  }
  View<T> of_patches = added.bottomRows(positions.patches());
  if (positions.reading->size() > 0) {
    matmul(*positions.reading, transposed(*positions.table), of_patches, workspace);
  } else {
    of_patches = positions.table->transpose();
  }
  const Rows<const T> from = run[x];
  const Rows<T> sums = run[y];
  for (Index b = 0; b < sequences.count(); ++b) {
    const auto part = [first = sequences.offset(b), tokens](const auto& rows) { return rows.middle(first, tokens); };
    assign<T>(part(sums), workspace, reader<T>(part(from)) + reader<T>(added));
  }
  if constexpr (Run::records) {
    run.push([x, y, positions, tokens, channels, kept = run.kept_sequences()](auto& back) {
      const Rows<const T> dy = back.gradient(y);
      add_gradient(back, x, reader<T>(dy));
      T* const to_table = back.gradient_of(positions.table->data());
      T* const to_class = back.gradient_of(positions.class_token->data());
      if (to_table == nullptr && to_class == nullptr) {
        return;
      }
      const auto scratch = back.workspace().frame();
      MatrixMap<T> sum = back.workspace().matrix(tokens, channels);
      sum.setZero();
      const Sequences split = back.sequences(kept);
      for (Index b = 0; b < split.count(); ++b) {
        assign<T>(sum, back.workspace(), reader<T>(dy.middle(split.offset(b), tokens)), true);
      }
      if (to_class != nullptr && positions.others() > 0) {
        Eigen::Map<Vector<T>>(to_class, channels) += sum.row(0).transpose();
      }
      const ConstView<T> patches = sum.bottomRows(positions.patches());
      if (positions.reading->size() > 0) {
        add_parameter_product(back, *positions.table, transposed(patches), *positions.reading);
      } else if (to_table != nullptr) {
        Eigen::Map<Matrix<T>>(to_table, channels, patches.rows()) += patches.transpose();
      }
    });
  }
  return y;
}

}  // namespace gated
