#pragma once

#include <algorithm>

#include "gated/core/sequence_groups.hpp"
#include "gated/core/words.hpp"
#include "gated/ops/fused.hpp"

/// @file
/// The linear map over the tokens of a sequence, with weights of several forms: an op over a batch, over the next tokens of a
/// stream, and its backward pass.

namespace gated {

/// Which numbers a spatial weight is made of.
enum class SpatialForm {
  dense,           ///< any W: N² numbers a head
  toeplitz,        ///< W_ij = w_{i-j}, 2N-1 numbers a head: the form of the gMLP paper's language models
  scaled_toeplitz  ///< W_ij = w_{N-1-(i-j)} · x_i · y_j for j ≤ i, else 0: 3N numbers a head; lucidrains' "circulant_matrix"
};

constexpr auto names_of(SpatialForm) { return words_for<SpatialForm>("dense", "toeplitz", "scaled_toeplitz"); }

/// The spatial weights of all heads, and what they are made of. Refers to its numbers.
template <class T>
struct SpatialWeight {
  /// With a causal weight, rows are taken in blocks of this many, which see no further than their own last token.
  static constexpr Index causal_block = 128;

  SpatialForm form;
  Index length;  ///< N
  Index heads;
  bool causal;                    ///< token i sees the tokens j ≤ i
  const Matrix<T>* w;             ///< dense: (heads·N) × N; toeplitz: heads × (2N-1); scaled_toeplitz: heads × N
  const Matrix<T>* row_scale;     ///< heads × N: x, of the scaled form
  const Matrix<T>* column_scale;  ///< heads × N: y
  const Matrix<T>* bias;          ///< heads × N

  /// Rows of W that are computed together for a sequence of `rows` tokens.
  Index block(Index rows) const { return causal ? causal_block : std::max<Index>(rows, 1); }

  /// Writes the first `count` entries of row i of W, mask included.
  void expand_row(Index head, Index i, Index count, T* row) const {
    const Index visible = causal ? std::min(i + 1, count) : count;
    switch (form) {
      case SpatialForm::dense:
        std::copy_n(&w->coeffRef(head * length + i, 0), visible, row);
        break;
      case SpatialForm::toeplitz:
        std::reverse_copy(&w->coeffRef(head, length + i - visible), &w->coeffRef(head, length - 1 + i) + 1, row);
        break;
      case SpatialForm::scaled_toeplitz:
        for (Index j = 0; j < visible; ++j) {
          row[j] = (*w)(head, length - 1 - (i - j)) * (*row_scale)(head, i) * (*column_scale)(head, j);
        }
        break;
    }
    std::fill(row + visible, row + count, T{0});
  }

  /// Rows i … i + count - 1 of W, `depth` columns of them, as a factor of a product. A weight without mask and scales is read
  /// where it lies: a Toeplitz one through strides, since one step down is one step right in w, and one step right one step
  /// left.
  Operand<T> rows(Index head, Index i, Index count, Index depth, Workspace<T>& workspace) const {
    if (!causal && form == SpatialForm::dense) {
      return Operand<T>(&w->coeffRef(head * length + i, 0), count, depth, length, 1);
    }
    if (!causal && form == SpatialForm::toeplitz) {
      return Operand<T>(&w->coeffRef(head, length - 1 + i), count, depth, 1, -1);
    }
    MatrixMap<T> expanded = workspace.matrix(count, depth);
    for (Index k = 0; k < count; ++k) {
      expand_row(head, i + k, depth, &expanded.coeffRef(k, 0));
    }
    return causal ? lower<T>(expanded, i) : Operand<T>(expanded);
  }
};

namespace detail {

/// The rows `first`, `first` + 1, … of W v + b, joined by `epilogue`, for one sequence, as many as y has; v holds the tokens
/// that they may see: for a causal weight those up to the last row, otherwise all.
template <class T>
void mix_rows(const SpatialWeight<T>& weight, const Rows<T>& v, Index first, const Rows<T>& y, const Epilogue<T>& epilogue,
              Workspace<T>& workspace) {
  const Index width = v.columns / weight.heads, block = weight.block(y.count);
  for (Index head = 0; head < weight.heads; ++head) {
    const Index column = head * width;
    for (Index done = 0; done < y.count; done += block) {
      const auto frame = workspace.frame();
      const Index rows = std::min(block, y.count - done), i = first + done, depth = weight.causal ? i + rows : v.count;
      Epilogue<T> joined = epilogue.block(done, column, rows, width);
      joined.row_bias = &weight.bias->coeffRef(head, i);
      matmul(weight.rows(head, i, rows, depth, workspace), v.block(0, column, depth, width), y.block(done, column, rows, width),
             workspace, joined);
    }
  }
}

/// The same for all sequences.
template <class T>
void mix_tokens(const SpatialWeight<T>& weight, const Sequences& sequences, const Rows<T>& v, const Rows<T>& y,
                const Epilogue<T>& epilogue, Workspace<T>& workspace) {
  for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
    for (Index b = 0; b < group.count(); ++b) {
      const Index offset = first + group.offset(b), length = group.length(b);
      mix_rows(weight, v.middle(offset, length), 0, y.middle(offset, length), epilogue.block(offset, 0, length, y.columns),
               scratch);
    }
  });
}

/// Backward through SpatialWeight::expand_row(): row i of ∂W, of which the first `count` entries are in `row`, joins the
/// gradients of the numbers that W is made of. Entries that the mask hides are left out.
template <class Back, class T>
void add_weight_row(Back& back, const SpatialWeight<T>& weight, Index head, Index i, Index count, const T* row) {
  const Index n = weight.length, visible = weight.causal ? std::min(i + 1, count) : count;
  const auto gradient = [&](const Matrix<T>& parameter, Index r, Index c) {
    return back.gradient_of(parameter.data()) + r * parameter.cols() + c;
  };
  switch (weight.form) {
    case SpatialForm::dense: {
      T* const to = gradient(*weight.w, head * n + i, 0);
      for_each_vector<T>(visible, [&](Index j, Index lanes) {
        (Simd<T>::load(to + j, lanes) + Simd<T>::load(row + j, lanes)).store(to + j, lanes);
      });
      break;
    }
    case SpatialForm::toeplitz: {
      T* const to = gradient(*weight.w, head, n - 1 + i);
      for (Index j = 0; j < visible; ++j) {
        to[-j] += row[j];
      }
      break;
    }
    case SpatialForm::scaled_toeplitz: {
      T *const to = gradient(*weight.w, head, n - 1 - i), *const to_y = gradient(*weight.column_scale, head, 0);
      T& to_x = *gradient(*weight.row_scale, head, i);
      const T x = (*weight.row_scale)(head, i);
      for (Index j = 0; j < visible; ++j) {
        const T w = (*weight.w)(head, n - 1 - (i - j)), y = (*weight.column_scale)(head, j);
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
template <class Back, class Variable, class T = typename Back::Scalar>
void mix_tokens_backward(Back& back, const SpatialWeight<T>& weight, const Sequences& sequences, Variable v,
                         const ConstView<T>& dy) {
  Workspace<T>& workspace = back.workspace();
  const View<T> from = back[v];
  const Index width = from.cols() / weight.heads, longest = sequences.longest(), block = weight.block(longest);
  auto target = back.target(v);
  const bool trained = back.gradient_of(weight.w->data()) != nullptr;

  for (Index head = 0; head < weight.heads; ++head) {
    const Index column = head * width;
    for (Index i = (longest - 1) / block * block; i >= 0 && longest > 0; i -= block) {
      const auto frame = workspace.frame();
      const Index all_rows = std::min(block, longest - i), all_depth = weight.causal ? i + all_rows : longest;
      MatrixMap<T> dw = workspace.matrix(trained ? all_rows : 0, all_depth);
      dw.setZero();
      // Calls f(offset, length, rows, depth) for each sequence that has rows in this block, `offset` counting from `first`.
      const auto for_each_part = [&](Index first, const Sequences& group, const auto& f) {
        for (Index b = 0; b < group.count(); ++b) {
          const Index length = group.length(b), rows = std::min(block, length - i);
          if (rows > 0) {
            f(first + group.offset(b), length, rows, weight.causal ? i + rows : length);
          }
        }
      };
      for_each_group(sequences, workspace, [&](Index first, const Sequences& group, Workspace<T>& scratch) {
        for_each_part(first, group, [&](Index offset, Index length, Index rows, Index depth) {
          const auto inner = scratch.frame();
          const View<T> dv_rows = target.view.block(offset, column, depth, width);
          const bool fresh = target.fresh && i + block >= length;
          matmul(weight.rows(head, i, rows, depth, scratch).transposed(),
                 ConstView<T>(dy.block(offset + i, column, rows, width)), dv_rows, scratch,
                 {.added = fresh ? Rows<const T>() : Rows<const T>(dv_rows)});
        });
      });
      for_each_part(0, sequences, [&](Index offset, Index, Index rows, Index depth) {
        const ConstView<T> dy_rows = dy.block(offset + i, column, rows, width);
        if (trained) {
          const ConstView<T> seen = from.block(offset, column, depth, width);
          View<T> dw_rows = dw.topLeftCorner(rows, depth);
          matmul(dy_rows, transposed(seen), dw_rows, workspace, {.added = dw_rows, .wanted = weight.causal ? i : -1});
        }
        if (T* const bias = back.gradient_of(weight.bias->data())) {
          for (Index row = 0; row < rows; ++row) {
            bias[head * weight.length + i + row] += dy_rows.row(row).sum();
          }
        }
      });
      for (Index row = 0; row < dw.rows(); ++row) {
        add_weight_row<Back, T>(back, weight, head, i + row, all_depth, &dw.coeffRef(row, 0));
      }
    }
  }
}

}  // namespace detail

/// y = W v + b over the tokens of each sequence, and what `fused` adds.
///
/// A stream remembers v: capacity × C numbers. An observer sees W v + b alone. The numbers that `weight` refers to must stay
/// until the backward pass is over.
/// Cost: 2·N²·C flops a sequence, about half of it when causal, twice that backward; scratch of 128 rows of W where it is
/// expanded, and of ∂W.
template <class Run, class T = typename Run::Scalar>
typename Run::Rows mix_tokens(Run& run, const SpatialWeight<T>& weight, const typename Run::Rows& v, const Fused<Run>& given,
                              const typename Run::Place& to) {
  typename Run::Place place = to;
  if constexpr (!Run::records) {
    if (to.data == v.data) {
      place = {};  // the last row reads what the first would overwrite
    }
  }
  return join_residual(run, given, [&](const Fused<Run>& fused) {
    const auto y = run.make(run.count(v), run.width(v), place);
    Epilogue<T> epilogue = epilogue_of(run, fused, y);
    Workspace<T>& workspace = run.workspace();
    if constexpr (Run::records) {
      const auto kept = fused.keeps() ? run.make(run.count(v), run.width(v)) : y;
      if (fused.keeps()) {
        epilogue.kept = run[kept];
      }
      detail::mix_tokens<T>(weight, run.sequences(), run[v], run[y], epilogue, workspace);
      run.push([weight, v, y, kept, fused, sequences = run.kept_sequences()](auto& back) {
        const View<T> dz = backward_through(back, fused, y, kept);
        detail::mix_tokens_backward(back, weight, back.sequences(sequences), v, ConstView<T>(dz));
      });
    } else {
      Rows<T> seen = v;
      Index first = 0;
      if constexpr (Run::streams) {
        const Index capacity = std::min(run.capacity(), weight.length);
        Matrix<T>& memory = run.remember(capacity, v.columns);
        first = run.position();
        memory.middleRows(first, v.count) = run[v];
        seen = Rows<T>(memory).middle(0, first + v.count);
        workspace.reserve(row_stride<T>(capacity) + detail::gemm::thread_scratch<T>(capacity) * workspace.threads().count());
      }
      const auto mix = [&](const Rows<T>& out, const Epilogue<T>& joined) {
        if constexpr (Run::streams) {
          detail::mix_rows(weight, seen, first, out, joined, workspace);
        } else {
          detail::mix_tokens(weight, run.sequences(), v, out, joined, workspace);
        }
      };
      if (run.observed() && !fused.is_plain()) {
        const auto frame = workspace.frame();
        const Rows<T> alone = workspace.matrix(v.count, v.columns);
        mix(alone, {});
        run.show(alone);
      }
      mix(y, epilogue);
    }
    return y;
  });
}

}  // namespace gated
