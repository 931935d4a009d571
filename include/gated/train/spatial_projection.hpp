#pragma once

#include "gated/layers/spatial_projection.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the spatial projection.

namespace gated {

namespace detail {

/// The way back through SpatialProjection::expand_row(): row i of ∂W, of which the first `length` entries are in `row`, joins
/// the gradients of the numbers that W is made of. Entries that the mask hides are left out.
template <class T>
void add_weight_row(Tape<T>& tape, const SpatialProjection<T>& layer, Index head, Index i, Index length, const T* row) {
  const Index n = layer.config.length;
  const Index visible = layer.is_causal() ? std::min(i + 1, length) : length;
  const auto gradient = [&](const Matrix<T>& parameter, Index r, Index c) {
    return tape.gradient_of(parameter.data()) + r * parameter.cols() + c;
  };
  switch (layer.config.form) {
    case SpatialForm::dense: {
      T* const to = gradient(layer.weight, head * n + i, 0);
      for_each_vector<T>(visible, [&](Index j, Index lanes) {
        (Simd<T>::load(to + j, lanes) + Simd<T>::load(row + j, lanes)).store(to + j, lanes);
      });
      break;
    }
    case SpatialForm::toeplitz: {
      T* const to = gradient(layer.weight, head, n - 1 + i);
      for (Index j = 0; j < visible; ++j) {
        to[-j] += row[j];
      }
      break;
    }
    case SpatialForm::scaled_toeplitz: {
      T *const to = gradient(layer.weight, head, n - 1 - i), *const to_y = gradient(layer.position_y, head, 0);
      T& to_x = *gradient(layer.position_x, head, i);
      const T x = layer.position_x(head, i);
      for (Index j = 0; j < visible; ++j) {
        const T w = layer.weight(head, n - 1 - (i - j)), y = layer.position_y(head, j);
        to[j] += row[j] * x * y;
        to_x += row[j] * w * y;
        to_y[j] += row[j] * w * x;
      }
      break;
    }
  }
}

/// ∂v = Wᵀ ∂y and ∂W = ∂y vᵀ, summed over the sequences; ∂b_i = the sum of ∂y_i over the channels. Blocks of rows come last to
/// first, so that the first block of each sequence reaches all the tokens that any block reaches.
template <class T>
void spatial_projection_back(Tape<T>& tape, const SpatialProjection<T>& layer, const Sequences& sequences, Variable v,
                             Variable y) {
  Workspace<T>& workspace = tape.workspace();
  const Index width = tape.width(v) / layer.config.heads, longest = sequences.longest();
  const Index block = layer.is_causal() ? SpatialProjection<T>::causal_block : std::max<Index>(longest, 1);
  const View<T> from = tape[v];
  const ConstView<T> dy = tape.gradient(y);
  auto target = tape.target(v);
  const bool trained = tape.gradient_of(layer.weight.data()) != nullptr;

  for (Index head = 0; head < layer.config.heads; ++head) {
    const Index column = head * width;
    for (Index i = (longest - 1) / block * block; i >= 0 && longest > 0; i -= block) {
      const auto frame = workspace.frame();
      const Index all_rows = std::min(block, longest - i), all_depth = layer.is_causal() ? i + all_rows : longest;
      MatrixMap<T> dw = workspace.matrix(trained ? all_rows : 0, all_depth);
      dw.setZero();
      // Calls f(offset, length, rows, depth) for each sequence that has rows in this block, `offset` counting from `first`.
      const auto for_each_part = [&](Index first, const Sequences& group, const auto& f) {
        for (Index b = 0; b < group.count(); ++b) {
          const Index length = group.length(b), rows = std::min(block, length - i);
          if (rows > 0) {
            f(first + group.offset(b), length, rows, layer.is_causal() ? i + rows : length);
          }
        }
      };
      for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
        for_each_part(first, group, [&](Index offset, Index length, Index rows, Index depth) {
          const auto inner = scratch.frame();
          const ConstView<T> dy_rows = dy.block(offset + i, column, rows, width);
          View<T> dv_rows = target.view.block(offset, column, depth, width);
          const Operand<T> w = layer.weight_rows(head, i, rows, depth, scratch);
          if (target.fresh && i + block >= length) {
            matmul<T>(w.transposed(), dy_rows, dv_rows, scratch);
          } else {
            matmul<T>(w.transposed(), dy_rows, dv_rows, scratch, Add<T>(dv_rows));
          }
        });
      });
      for_each_part(0, sequences, [&](Index offset, Index, Index rows, Index depth) {
        const ConstView<T> dy_rows = dy.block(offset + i, column, rows, width);
        if (trained) {
          const ConstView<T> seen = from.block(offset, column, depth, width);
          View<T> dw_rows = dw.topLeftCorner(rows, depth);
          matmul<T>(dy_rows, transposed<T>(seen), dw_rows, workspace, Add<T>(dw_rows));
        }
        if (T* const bias = tape.gradient_of(layer.bias.data())) {
          for (Index row = 0; row < rows; ++row) {
            bias[head * layer.config.length + i + row] += dy_rows.row(row).sum();
          }
        }
      });
      for (Index row = 0; row < dw.rows(); ++row) {
        add_weight_row<T>(tape, layer, head, i + row, all_depth, &dw.coeffRef(row, 0));
      }
    }
  }
}

}  // namespace detail

/// y = W v + b over the tokens of each sequence. Cost: twice the forward's products; scratch of 128 rows of ∂W (of all rows
/// without causality).
template <class T>
Variable record(Tape<T>& tape, const SpatialProjection<T>& layer, Variable v, const Sequences& sequences) {
  const Variable y = tape.make(tape.rows(v), tape.width(v));
  layer.forward(tape[v], sequences, tape[y], tape.workspace());
  const Index kept = tape.keep(sequences);
  tape.push([&tape, &layer, v, y, kept] { detail::spatial_projection_back<T>(tape, layer, tape.sequences(kept), v, y); });
  return y;
}

}  // namespace gated
