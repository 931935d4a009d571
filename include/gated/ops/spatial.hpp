#pragma once

#include <algorithm>
#include <utility>

#include "gated/core/ordered_sum.hpp"
#include "gated/core/sequence_groups.hpp"
#include "gated/core/stream.hpp"
#include "gated/ops/join.hpp"
#include "gated/ops/spatial_fourier.hpp"
#include "gated/ops/spatial_stream.hpp"

/// @file
/// The linear map over the tokens of a sequence, in batches and streams, and its backward pass.

namespace gated {

namespace detail {

/// y = rows `first`, `first` + 1, … of W v + b for one sequence, with `epilogue` applied. If W is causal, v has the tokens
/// up to that of y's last row; otherwise v has all tokens. `sums` (TileSums or StreamSums) computes the part of W v that uses
/// the FFT.
template <class T, class Sums>
void mix_rows(const SpatialWeight<T>& weight, const MatrixView<const T>& v, Index first, const MatrixView<T>& y,
              const Epilogue<T>& epilogue, Sums& sums, Workspace<T>& workspace) {
  const Index width = v.columns() / weight.heads, block = weight.block(y.rows());
  for (Index done = 0, rows = 0; done < y.rows(); done += rows) {
    const auto frame = workspace.frame();
    const Index i = first + done, start = sums.start(i);
    rows = std::min({block, y.rows() - done, sums.rest(i)});
    const Index depth = weight.causal ? i + rows - start : v.rows();
    const MatrixView<T> result = y.rows(done, rows);
    const Epilogue<T> joined = epilogue.block(done, 0, rows, y.columns());
    const bool joins_later = start > 0 && joined.added;  // `added` holds the FFT sums: the epilogue runs later
    const MatrixView<T> made = joins_later ? MatrixView<T>(workspace.matrix(rows, y.columns())) : result;
    Epilogue<T> of_product = joins_later ? Epilogue<T>() : joined;
    if (start > 0) {
      of_product.added = sums.at(v, i, rows, workspace);
    }
    for (Index head = 0; head < weight.heads; ++head) {
      const auto inner = workspace.frame();
      const Index column = head * width;
      Epilogue<T> of_head = of_product.block(0, column, rows, width);
      of_head.row_bias = weight.bias == nullptr ? nullptr : &weight.bias->coeffRef(head, i);
      Operand<T> from = v.block(start, column, depth, width);
      from.quantizable = !weight.causal;  // if causal, int8 scales would depend on later tokens
      matmul(weight.rows(head, i, rows, depth, workspace, start), from, made.columns(column, width), workspace, of_head);
    }
    if (joins_later) {
      finish_rows<T>(made, joined, result, workspace);
    }
  }
}

/// Backward pass of SpatialWeight::expand_row(): adds row i of ∂W to the gradients of W's parameters. `row` holds the first
/// `count` entries of that row; entries that the causal mask hides are skipped.
template <class Back, class T>
void add_weight_row(Back& back, const SpatialWeight<T>& weight, Index head, Index i, Index count, const T* row) {
  const Index visible = weight.causal ? std::min(i + 1, count) : count;
  const auto gradient = [&](const Matrix<T>& parameter, Index r, Index c) {
    return back.gradient_of(parameter.data()) + r * parameter.cols() + c;
  };
  switch (weight.form) {
    case SpatialForm::dense: {
      T* const to = gradient(*weight.w, head * weight.outputs() + i, 0);
      kernels<AssignKernels<T, terms::Read<T>>>().assign_rows(per_channel<T>(row), 0, 1, visible, to, 0, true);
      break;
    }
    case SpatialForm::toeplitz: {
      T* const to = gradient(*weight.w, head, weight.place(i));
      for (Index j = 0; j < visible; ++j) {
        to[-j] += row[j];
      }
      break;
    }
    case SpatialForm::scaled_toeplitz: {
      T *const to = gradient(*weight.w, head, weight.place(i)), *const to_y = gradient(*weight.column_scale, head, 0);
      T& to_x = *gradient(*weight.row_scale, head, i);
      const T x = (*weight.row_scale)(head, i);
      for (Index j = 0; j < visible; ++j) {
        const T w = (*weight.w)(head, weight.place(i - j)), y = (*weight.column_scale)(head, j);
        to[j] += rounded(row[j] * x * y);
        to_x += rounded(row[j] * w * y);
        to_y[j] += rounded(row[j] * w * x);
      }
      break;
    }
  }
}

/// ∂b_i = the sum of ∂y_i over the channels.
template <class Back, class T>
void add_spatial_bias(Back& back, const SpatialWeight<T>& weight, const Sequences& sequences, const ConstView<T>& dy) {
  T* const bias = weight.bias == nullptr ? nullptr : back.gradient_of(weight.bias->data());
  const Index width = dy.cols() / weight.heads;
  for (Index b = 0; bias != nullptr && b < sequences.count(); ++b) {
    const Index first = weight.outputs_of(sequences.offset(b));
    for (Index i = 0; i < weight.outputs_of(sequences.length(b)); ++i) {
      for (Index head = 0; head < weight.heads; ++head) {
        bias[head * weight.outputs() + i] += ordered_sum(dy.row(first + i).segment(head * width, width));
      }
    }
  }
}

/// Calls `f(offset, length, rows, depth)` for each sequence that uses row i of W. Such a sequence uses rows i … i + rows - 1,
/// where rows ≤ block; these rows see `depth` tokens. `offset` is the sequence's offset plus `first`; `length` is its length.
template <class T, class F>
void for_each_part(const SpatialWeight<T>& weight, const Sequences& sequences, Index first, Index i, Index block, const F& f) {
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index length = sequences.length(b), rows = std::min(block, weight.outputs_of(length) - i);
    if (rows > 0) {
      f(first + sequences.offset(b), length, rows, weight.causal ? i + rows : length);
    }
  }
}

/// Adds ∂W = ∂y vᵀ, summed over sequences, for rows i … i + rows - 1 of a head's W. These rows see `depth` tokens.
template <class Back, class T>
void add_weight_rows(Back& back, const SpatialWeight<T>& weight, const Sequences& sequences, const ConstView<T>& v,
                     const ConstView<T>& dy, Index head, Index i, Index rows, Index depth) {
  Workspace<T>& workspace = back.workspace();
  const auto frame = workspace.frame();
  const Index width = v.cols() / weight.heads, column = head * width;
  MatrixMap<T> dw = workspace.matrix(rows, depth);
  dw.setZero();
  for_each_part(weight, sequences, 0, i, rows, [&](Index offset, Index, Index count, Index seen) {
    View<T> to = dw.topLeftCorner(count, seen);
    matmul(ConstView<T>(dy.block(weight.outputs_of(offset) + i, column, count, width)),
           transposed(ConstView<T>(v.block(offset, column, seen, width))), to, workspace,
           {.added = to, .wanted = weight.causal ? i : -1});
  });
  for (Index row = 0; row < rows; ++row) {
    add_weight_row<Back, T>(back, weight, head, i + row, depth, &dw.coeffRef(row, 0));
  }
}

/// ∂v = Wᵀ ∂y and ∂W = ∂y vᵀ, summed over sequences. Visits the blocks of rows from last to first: a sequence's last block sees
/// all its tokens, so it can assign ∂v; the other blocks add to it.
template <class Back, class Variable, class T = typename Back::Scalar>
void mix_tokens_backward(Back& back, const SpatialWeight<T>& weight, const Sequences& sequences, Variable v,
                         const ConstView<T>& dy) {
  Workspace<T>& workspace = back.workspace();
  const View<T> from = back[v];
  const Index width = from.cols() / weight.heads, longest = sequences.longest();
  const Index most_rows = weight.outputs_of(longest), block = weight.block(most_rows);
  auto target = back.target(v);
  const bool trained = back.gradient_of(weight.w->data()) != nullptr;
  for (Index head = 0; head < weight.heads; ++head) {
    const Index column = head * width;
    for (Index i = (most_rows - 1) / block * block; i >= 0 && most_rows > 0; i -= block) {
      for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
        for_each_part(weight, group, first, i, block, [&](Index offset, Index length, Index rows, Index depth) {
          const auto frame = scratch.frame();
          const View<T> dv_rows = target.view.block(offset, column, depth, width);
          const bool fresh = target.fresh && i + block >= weight.outputs_of(length);
          matmul(weight.rows(head, i, rows, depth, scratch).transposed(),
                 ConstView<T>(dy.block(weight.outputs_of(offset) + i, column, rows, width)), dv_rows, scratch,
                 {.added = fresh ? MatrixView<const T>() : MatrixView<const T>(dv_rows)});
        });
      });
      if (trained) {
        const Index rows = std::min(block, most_rows - i);
        add_weight_rows<Back, T>(back, weight, sequences, from, dy, head, i, rows, weight.causal ? i + rows : longest);
      }
    }
  }
}

/// The backward pass for all sequences: from ∂z to the gradients of v, b and the parameters of W.
template <class Back, class Variable, class T = typename Back::Scalar>
void mix_all_backward(Back& back, const SpatialWeight<T>& weight, const Sequences& sequences, Variable v,
                      const ConstView<T>& dz) {
  add_spatial_bias<Back, T>(back, weight, sequences, dz);
  if (weight.is_transformed(sequences.longest())) {
    fourier::mix_sequences_backward(back, weight, sequences, v, dz);
  } else {
    mix_tokens_backward(back, weight, sequences, v, dz);
  }
}

/// y = the rows of W v + b for the next tokens of a stream. The stream's state keeps v and partial sums.
template <class T>
void mix_next_tokens(Stream<T>& run, const SpatialWeight<T>& weight, const MatrixView<T>& v, const MatrixView<T>& y,
                     const Epilogue<T>& epilogue) {
  using Sums = fourier::StreamSums<T>;
  Workspace<T>& workspace = run.workspace();
  const Index capacity = std::min(run.capacity(), weight.length), first = run.position();
  Matrix<T>& memory = run.remember(capacity, v.columns());
  memory.middleRows(first, v.rows()) = ConstView<T>(v);
  Matrix<T>& kept = run.remember(Sums::rows(weight, capacity), v.columns());
  Matrix<T>& progress = run.remember(Sums::levels(weight, capacity), 6);
  Matrix<T>& scratch = run.remember(Sums::scratch_rows(weight, capacity), Sums::widest_row);
  if (run.starts()) {
    Sums::make_tables(weight, capacity);
  }
  Sums sums(weight, capacity, kept, progress, scratch);
  sums.rewind(first);
  const Index rows = std::min(v.rows(), weight.block(v.rows()));
  const Index depth = Sums::levels(weight, capacity) > 0 ? std::min(capacity, 2 * weight.stream_tile()) : capacity;
  workspace.reserve(rows * row_stride<T>(depth) + gemm::product_scratch<T>(rows, depth, workspace.threads()) +
                    Sums::scratch_size(weight, capacity, v.columns()));
  const MatrixView<const T> seen = MatrixView<T>(memory).rows(0, first + v.rows());
  mix_rows<T>(weight, seen, first, y, epilogue, sums, workspace);
  if (v.rows() > 0) {
    sums.advance(seen, workspace);
  }
}

}  // namespace detail

/// y = W v + b over the tokens of each sequence, with `epilogue` applied.
///
/// If W is M × N with M ≠ N, a sequence has N tokens in v and M in y. In that case, the run's sequences are used only for
/// stochastic depth on the residual. `weight` must outlive the backward pass.
///
/// A stream keeps v (capacity × C values). With the FFT (see SpatialWeight::is_transformed()) it also keeps about as many
/// partial sums, and up to 256 bytes per token for unfinished transforms. Without the FFT, stream and batch are bit-equal. With
/// the FFT, they add in different orders and are equal up to rounding (about 1e-6 of the largest value in float). A stream's
/// output is bit-equal for any division into steps.
/// Shapes: v is rows × C with C / heads columns per head; y has v's shape, or is (sequences · M) × C for an M × N weight.
/// Errors: ShapeError if an epilogue matrix is not shaped like y.
/// Cost: 2·N²·C flops per sequence, half of that if causal; the backward pass costs twice as much. Scratch: 128 rows of W
/// if it is expanded, and ∂W in the backward pass. With the FFT: about 20·N·C·log₂ N flops (if causal,
/// 10·N·C·log₂ N · log₂(N / tile)), and scratch of 8·N SIMD vectors per thread (24·N in the backward pass). A stream with the
/// FFT: 25/2·C·log₂ N · log₂(position / tile) flops per token. If the weights are prepared, this work is spread evenly over
/// earlier steps; otherwise one step does all transforms of a block.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> mix_tokens(Run& run, const SpatialWeight<T>& weight, const MatrixOf<Run>& v, const Epilogue<Run>& epilogue) {
  const bool is_square = weight.outputs() == weight.length;
  const Sequences sequences =
      is_square ? run.sequences() : Sequences::uniform(run.rows(v) / weight.length, weight.length);  // v's, not y's
  const Joined<Run> joined = joined_result(run, weight.outputs_of(run.rows(v)), run.columns(v), epilogue);
  if constexpr (Run::streams) {
    detail::mix_next_tokens<T>(run, weight, v, joined.y, joined.epilogue);
  } else {
    const MatrixView<const T> all_v = run[v];
    const MatrixView<T> all_y = run[joined.y];
    for_each_group(sequences, run.workspace(), [&](Index first, const Sequences& group, Workspace<T>& scratch) {
      for (Index b = 0; b < group.count(); ++b) {
        const auto frame = scratch.frame();
        const Index offset = first + group.offset(b), length = group.length(b);
        const Index row = weight.outputs_of(offset), rows = weight.outputs_of(length);
        const MatrixView<const T> from = all_v.rows(offset, length);
        const MatrixView<T> to = all_y.rows(row, rows);
        const Epilogue<T> of_rows = joined.epilogue.block(row, 0, rows, to.columns());
        if (!weight.causal && weight.is_transformed(length)) {
          detail::fourier::mix_sequence<T>(weight, from, to, of_rows, scratch);
        } else {
          detail::fourier::TileSums<T> tiles(weight, length, from.columns(), scratch);
          detail::mix_rows(weight, from, 0, to, of_rows, tiles, scratch);
        }
      }
    });
  }
  if constexpr (Run::records) {
    const Index split = is_square ? run.kept_sequences() : run.keep(sequences);
    run.push([weight, v, y = joined.y, saved = joined.saved, epilogue, split](auto& back) {
      const View<T> dz = backward_through(back, epilogue, y, saved);
      detail::mix_all_backward(back, weight, back.sequences(split), v, ConstView<T>(dz));
    });
  }
  return joined.y;
}

}  // namespace gated
