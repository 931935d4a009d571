#pragma once

#include <algorithm>
#include <bit>

#include "gated/core/words.hpp"
#include "gated/ops/matmul.hpp"

/// @file
/// The weight of a linear map over tokens, in its several forms.

namespace gated {

/// Which numbers a spatial weight is made of.
enum class SpatialForm {
  dense,           ///< any W: N² numbers per head
  toeplitz,        ///< W_ij = w_{i-j}, 2N-1 numbers per head: the form of the gMLP paper's language models
  scaled_toeplitz  ///< W_ij = w_{N-1-(i-j)} · x_i · y_j for j ≤ i, else 0: 3N numbers per head; lucidrains' "circulant_matrix"
};

constexpr auto names_of(SpatialForm) { return words_for<SpatialForm>("dense", "toeplitz", "scaled_toeplitz"); }

/// Tokens from which Toeplitz forms go by Fourier transform, unless a model says otherwise: where that overtook the plain
/// product on the machines that were tried (bench/README.md).
inline constexpr Index fourier_crossover = 128;

/// The spatial weights of all heads, and what they are made of. Refers to its numbers.
///
/// A dense W that is not causal may have another number of rows M than columns N: it makes M tokens of the N of each sequence.
template <class T>
struct SpatialWeight {
  /// With a causal weight, rows are taken in blocks of this many, which see no further than their own last token.
  static constexpr Index causal_block = 128;

  SpatialForm form;
  Index length;  ///< N
  Index heads;
  bool causal;         ///< token i sees the tokens j ≤ i
  const Matrix<T>* w;  ///< dense: (heads·M) × N; toeplitz: heads × (2N-1); scaled_toeplitz: heads × N
  const Matrix<T>* row_scale;              ///< heads × N: x, of the scaled form
  const Matrix<T>* column_scale;           ///< heads × N: y
  const Matrix<T>* bias;                   ///< heads × M, or none
  Index fourier_from = fourier_crossover;  ///< tokens from which a Toeplitz form goes by Fourier transform

  /// M.
  Index outputs() const { return form == SpatialForm::dense ? w->rows() / heads : length; }
  /// What becomes of the tokens of whole sequences: as many, or M of each N.
  Index outputs_of(Index tokens) const { return outputs() == length ? tokens : tokens / length * outputs(); }

  /// True if a sequence of `rows` tokens goes by Fourier transform, or a stream of so many at most: this depends on nothing but
  /// lengths. A causal one must have six tiles at least, because a tile costs the same for one row that it serves as for all.
  bool is_transformed(Index rows) const {
    return form != SpatialForm::dense && (causal ? rows / 6 >= tile() : rows >= fourier_from);
  }
  /// Of a causal weight, the rows that meet each other in plain products: fourier_from, or the power of two below it.
  Index tile() const { return static_cast<Index>(std::bit_floor(static_cast<std::size_t>(std::max<Index>(fourier_from, 1)))); }

  /// The rows of a block of a stream, which meet each other and the block before them in plain products.
  Index stream_tile() const { return std::max<Index>(tile() / 2, 1); }

  /// w_k of a head, which is W_ij at i - j = k, without scales; 0 where the mask hides it or there is none.
  T lag(Index head, Index k) const {
    if ((causal && k < 0) || k >= length || k <= -length) {
      return T{0};
    }
    return (*w)(head, place(k));
  }
  /// Where w_k stands in a row of w.
  Index place(Index k) const { return length - 1 + (form == SpatialForm::toeplitz ? k : -k); }

  /// Rows of W that are computed together for a sequence of `rows` tokens.
  Index block(Index rows) const { return causal ? causal_block : std::max<Index>(rows, 1); }

  /// Writes the entries `first` … `first` + `count` - 1 of row i of W, mask included.
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

  /// Rows i … i + count - 1 of W, `depth` columns of them from `first` on, as a factor of a product. A weight without mask and
  /// scales is read where it lies: a Toeplitz one through strides, since one step down is one step right in w, and one step
  /// right one step left.
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
    return causal ? lower<T>(expanded, i - first) : Operand<T>(expanded);
  }
};

}  // namespace gated
