#pragma once

#include <algorithm>
#include <bit>

#include "gated/core/words.hpp"
#include "gated/ops/matmul.hpp"

/// @file
/// The weight of a linear map over tokens: dense, or one of the Toeplitz forms.

namespace gated {

/// The structure of a spatial weight.
enum class SpatialForm {
  dense,           ///< any W: N² values per head
  toeplitz,        ///< W_ij = w_{i-j}, 2N-1 values per head: the form of the gMLP paper's language models
  scaled_toeplitz  ///< W_ij = w_{N-1-(i-j)} · x_i · y_j for j ≤ i, else 0: 3N values per head; lucidrains' "circulant_matrix"
};

constexpr auto names_of(SpatialForm) { return words_for<SpatialForm>("dense", "toeplitz", "scaled_toeplitz"); }

/// Sequence length from which non-causal Toeplitz weights use the FFT by default. From this length on, the FFT was faster than
/// a matmul on the machines tested (bench/README.md). For causal weights, see is_transformed().
inline constexpr Index fourier_crossover = 128;

/// The spatial weights of all heads. Non-owning.
///
/// A dense, non-causal W may have M rows ≠ N columns: it maps the N tokens of each sequence to M.
template <class T>
struct SpatialWeight {
  /// Rows per block of a causal weight. A block reads no tokens after its last row.
  static constexpr Index causal_block = 128;

  SpatialForm form;
  Index length;  ///< N
  Index heads;
  bool causal;         ///< token i sees only tokens j ≤ i
  const Matrix<T>* w;  ///< dense: (heads·M) × N; toeplitz: heads × (2N-1); scaled_toeplitz: heads × N
  const Matrix<T>* row_scale;              ///< scaled_toeplitz: x, heads × N
  const Matrix<T>* column_scale;           ///< scaled_toeplitz: y, heads × N
  const Matrix<T>* bias;                   ///< heads × M, or nullptr
  Index fourier_from = fourier_crossover;  ///< length from which a Toeplitz form uses the FFT: see is_transformed()

  /// M, the number of rows of W per head.
  Index outputs() const { return form == SpatialForm::dense ? w->rows() / heads : length; }
  /// Number of output tokens for whole sequences of `tokens` input tokens in total: `tokens` / N · M, or `tokens` if M = N.
  Index outputs_of(Index tokens) const { return outputs() == length ? tokens : tokens / length * outputs(); }

  /// True if a sequence of `rows` tokens, or a stream of up to that many, uses the FFT. Depends on lengths only. A causal
  /// weight uses the FFT from six tiles on, because a tile costs as much for one row as for all its rows.
  bool is_transformed(Index rows) const {
    return form != SpatialForm::dense && (causal ? rows / 6 >= tile() : rows >= fourier_from);
  }
  /// The tile size of a causal weight: fourier_from, rounded down to a power of two. A matmul covers token pairs in a tile.
  Index tile() const { return static_cast<Index>(std::bit_floor(static_cast<std::size_t>(std::max<Index>(fourier_from, 1)))); }

  /// Block size of a stream. A matmul covers pairs of tokens in the same block or in adjacent blocks.
  Index stream_tile() const { return std::max<Index>(tile() / 2, 1); }

  /// w_k of a head: W_ij for i - j = k, without scales; 0 if masked or out of range.
  T lag(Index head, Index k) const {
    if ((causal && k < 0) || k >= length || k <= -length) {
      return T{0};
    }
    return (*w)(head, place(k));
  }
  /// The column of the matrix w that stores w_k.
  Index place(Index k) const { return length - 1 + (form == SpatialForm::toeplitz ? k : -k); }

  /// Number of rows of W per matmul, for a sequence of `rows` tokens.
  Index block(Index rows) const { return causal ? causal_block : std::max<Index>(rows, 1); }

  /// Writes entries `first` … `first` + `count` - 1 of row i of W, with the mask applied.
  void expand_row(Index head, Index i, Index count, T* row, Index first = 0) const {
    const Index visible = causal ? std::clamp<Index>(i + 1 - first, 0, count) : count;
    switch (form) {
      case SpatialForm::dense:
        std::copy_n(w->data() + (head * outputs() + i) * w->cols() + first, visible, row);
        break;
      case SpatialForm::toeplitz: {
        const T* const end = w->data() + head * w->cols() + (place(i - first) + 1);
        std::reverse_copy(end - visible, end, row);
        break;
      }
      case SpatialForm::scaled_toeplitz:
        for (Index k = 0, j = first; k < visible; ++k, ++j) {
          row[k] = (*w)(head, place(i - j)) * (*row_scale)(head, i) * (*column_scale)(head, j);
        }
        break;
    }
    std::fill(row + visible, row + count, T{0});
  }

  /// Rows i … i + count - 1 of W, columns `first` … `first` + depth - 1, as an operand of matmul(). A W without mask and scales
  /// is read in place; otherwise its rows are expanded into scratch. A Toeplitz W that is read in place has row stride 1 and
  /// column stride -1.
  Operand<T> rows(Index head, Index i, Index count, Index depth, Workspace<T>& workspace, Index first = 0) const {
    if (!causal && form == SpatialForm::dense) {
      return Operand<T>(&w->coeffRef(head * outputs() + i, first), count, depth, length, 1);
    }
    if (!causal && form == SpatialForm::toeplitz) {
      return Operand<T>(&w->coeffRef(head, place(i - first)), count, depth, 1, -1);
    }
    MatrixMap<T> expanded = workspace.matrix(count, depth);
    for (Index k = 0; k < count; ++k) {
      expand_row(head, i + k, depth, &expanded.coeffRef(k, 0), first);
    }
    Operand<T> result = expanded;
    if (causal) {
      result = lower<T>(result, i - first);
      result.exact = form != SpatialForm::dense;  // a stream and a batch compute different parts by FFT
    }
    return result;
  }
};

}  // namespace gated
